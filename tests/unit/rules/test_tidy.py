"""STYLE.md as a test, so that no reviewer has to check its rules, which are in ``tidy``."""

from pathlib import Path

import pytest

from tests.tidy import cycles, manners, pure, sizes, wording
from tests.tidy.sources import ROOT, Rule, Sources, repository

DECISION = "callboard/actors/publisher/queues/page_details.py"

OFFENCES: dict[Rule, list[tuple[Sources, str]]] = {
    cycles.no_module_imports_itself: [
        ({"callboard/a.py": "import callboard.b", "callboard/b.py": "def late():\n    from callboard import a",
          "callboard/__init__.py": ""}, "callboard.a -> callboard.b -> callboard.a"),
        ({"callboard/a/__init__.py": "if TYPE_CHECKING:\n    from callboard.a.b import B",
          "callboard/a/b.py": "from callboard.a import A"}, "callboard.a -> callboard.a.b -> callboard.a"),
    ],
    sizes.nothing_is_too_large: [
        ({"tests/long.py": "\n" * 501}, "tests/long.py has 501 lines"),
        ({"callboard/long.py": "\n" * 301}, "callboard/long.py has 301 lines"),
        ({"callboard/a.py": "class Long:\n" + "    x = 1\n" * 250}, "callboard/a.py:Long has 251 lines"),
        ({"tests/a.py": "def long():\n" + "    x = 1\n" * 60}, "tests/a.py:long has 61 lines"),
        ({f"callboard/crowd/{number}.py": "" for number in range(16)}, "callboard/crowd has 16 files"),
        ({"callboard/config/model.py": ""}, "callboard/config/model.py is small enough now"),
    ],
    wording.every_name_says_something: [
        ({"callboard/common/log.py": ""}, "callboard/common/log.py"),
        ({"tests/log_helpers.py": ""}, "tests/log_helpers.py"),
        ({"callboard/log.py": "class LogManager: ..."}, "callboard/log.py:LogManager"),
    ],
    wording.nothing_is_left_unfinished: [({"docs/a.md": "fine\nTO" + "DO: more"}, "docs/a.md:2")],
    wording.no_file_names_a_machine_or_a_package_registry: [
        ({"deploy/a.sh": "cd /ro" + "ot/callboard"}, "deploy/a.sh:1"),
        ({"docs/a.md": "pip install --index" + "-url https://a.example"}, "docs/a.md:1"),
    ],
    wording.every_actor_says_what_it_does_and_when_it_gives_up: [
        ({DECISION: 'class Mute:\n    """Receives. Sends. Stores. Timers."""\n    def receive(self): ...'},
         f"{DECISION}:Mute does not say: Gives up"),
        ({DECISION: "class Renamed:\n    def accept(self): ..."}, "no actors found"),
    ],
    wording.the_docstring_of_errors_draws_their_tree: [
        ({"callboard/errors.py": '"""A\n└── B       why"""\nclass A(Exception): ...\nclass B(Exception): ...'},
         "errors.py: B below A"),
        ({"callboard/errors.py": '"""A       why"""\nclass A(Exception): ...\nclass C(A): ...'},
         "errors.py: C below A"),
    ],
    pure.time_and_dice_come_in_as_arguments: [
        ({"callboard/content/a.py": "from time import time_ns as now\nnow()"}, "a.py:2 calls time.time_ns"),
        ({"callboard/content/a.py": "import random\nrandom.Random()"}, "a.py:2 calls random.Random"),
    ],
    pure.decisions_do_nothing_themselves: [
        ({DECISION: "import os"}, f"{DECISION} imports os"),
        ({DECISION: "def later():\n    from time import monotonic"}, f"{DECISION} imports time.monotonic"),
        ({DECISION: "import asyncio.subprocess as run"}, f"{DECISION} imports asyncio.subprocess"),
        ({DECISION: "from pathlib import Path"}, f"{DECISION} imports pathlib.Path"),
        ({"callboard/actors/core/new.py": "from uuid import uuid4"}, "core/new.py imports uuid.uuid4"),
        ({"callboard/actors/new.py": "from random import choice"}, "actors/new.py imports random.choice"),
        ({DECISION: "from datetime import date\ndate.today()"}, f"{DECISION}:2 calls datetime.date.today"),
        ({DECISION: "from random import Random\nRandom()"}, f"{DECISION}:2 calls random.Random"),
        ({DECISION: "open('here')"}, f"{DECISION}:1 calls open"),
    ],
    manners.tests_wait_for_a_condition_and_never_for_a_time: [
        ({"tests/a.py": "import time\ntime.sleep(1)"}, "tests/a.py:2 sleeps"),
        ({"tests/a.py": "from asyncio import sleep\nfor _ in range(3):\n    sleep(0.1)"}, "tests/a.py:3 sleeps"),
    ],
    manners.a_library_does_not_print_where_it_was_not_asked_to: [
        ({"callboard/door/a.py": "import structlog\nstructlog.get_logger()"}, "a.py:2 calls structlog.get_logger"),
    ],
    manners.text_for_people_is_made_where_it_is_escaped: [
        ({"callboard/cli/a.py": "from rich.text import Text\nText(name)"}, "callboard/cli/a.py:2 calls rich.text.Text"),
        ({"callboard/cli/a.py": "from rich.console import Console\nConsole()"}, "a.py:2 calls rich.console.Console"),
    ],
}  # fmt: skip
"""Every rule, and sources against it with the beginning of what it says of them."""

PLANTED = [(rule, sources, told) for rule, offences in OFFENCES.items() for sources, told in offences]


@pytest.mark.parametrize("rule", OFFENCES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule: Rule):
    found = rule(repository())
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(("rule", "sources", "told"), PLANTED, ids=lambda value: getattr(value, "__name__", ""))
def test_the_rule_finds_a_violation(rule: Rule, sources: Sources, told: str):
    assert any(told in line for line in rule(sources)), rule(sources)


def test_every_rule_is_tested():
    written = {
        rule
        for module in (cycles, manners, pure, sizes, wording)
        for rule in vars(module).values()
        if getattr(rule, "__annotations__", None) == {"sources": Sources, "return": list[str]}
    }
    assert written == set(OFFENCES)


def strays(root: Path) -> list[str]:
    """The folders at the top that are not links into the package, as they should be."""
    names = ("actors", "backends", "messages")
    links = {name: (root / name).readlink() for name in names if (root / name).is_symlink()}
    return [name for name in names if links.get(name) != Path("callboard", name)]


def test_the_folders_at_the_top_are_links_into_the_package(tmp_path: Path):
    assert strays(ROOT) == []
    (tmp_path / "actors").mkdir()
    (tmp_path / "backends").symlink_to("callboard/backends")
    (tmp_path / "messages").symlink_to("callboard")
    assert strays(tmp_path) == ["actors", "messages"]
