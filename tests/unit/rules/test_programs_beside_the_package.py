"""Benchmarks and deployments, which no other test runs, import only existing names."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted(path for folder in ("benchmarks", "deploy") for path in (ROOT / folder).rglob("*.py"))
EXTRAS = "callboard.pipeline"
"""What needs packages that need not be here."""


def imported(program: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("callboard"):
            yield from ((node.module, name.name) for name in node.names if not node.module.startswith(EXTRAS))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_programs_import_from_the_package_exists(program: Path) -> None:
    gone = []
    for module, name in imported(program):
        if not hasattr(import_module(module), name):
            try:
                import_module(f"{module}.{name}")
            except ModuleNotFoundError:
                gone.append(f"{module}.{name}")
    assert gone == []
