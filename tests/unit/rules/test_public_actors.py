"""What ``callboard.actors`` gives: the names that callboard's own agents use, too, and nothing heavy with them."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import callboard
from callboard import actors

PACKAGE = Path(callboard.__file__).parent
CORE = "callboard.actors.core."
SHARED = {"claims", "hooks", "lease", "shortening", "shortening_limits"}
"""Modules of the core that are about subscribers' names, hooks and topics, which several of its agents share."""

INTERNAL = {"GATEWAY"}
"""Where an agent's own problems go, whose kinds are those of subscribers."""


def names_for_type_checkers() -> set[str]:
    block = next(node for node in ast.parse(Path(actors.__file__).read_text()).body if isinstance(node, ast.If))
    return {name.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for name in node.names}


def used_of_the_core() -> Iterator[tuple[str, str]]:
    """The names that callboard's own agents import from the core, with the file."""
    for kind in ("publisher", "subscriber", "topology", "jobs"):
        for file in (PACKAGE / "actors" / kind).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
                if module.startswith(CORE) and module.removeprefix(CORE) not in SHARED:
                    yield from ((name.name, file.name) for name in node.names)


def test_the_names_for_type_checkers_match_the_module() -> None:
    assert names_for_type_checkers() == set(actors.__all__)
    assert all(hasattr(actors, name) and name in dir(actors) for name in actors.__all__)


def test_callboards_own_agents_use_nothing_of_the_core_that_others_cannot_use() -> None:
    used = set(used_of_the_core())
    assert len(used) > 100
    assert {each for each in used if each[0] not in {*actors.__all__, *INTERNAL}} == set()


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Decison'"):
        actors.Decison  # noqa: B018


def test_the_package_loads_nothing_heavy() -> None:
    code = "import sys\nfrom callboard.actors import AgentSpec, Follower, Send\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & {"asyncio", "google", "pydantic", "structlog", "thespian"} == set()
