"""What ``import callboard`` gives: the same to a reader, to mypy and at run time, and not before it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import callboard


def names_for_type_checkers() -> set[str]:
    tree = ast.parse(Path(callboard.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {name.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for name in node.names}


def test_the_names_for_type_checkers_are_those_of_the_module():
    assert names_for_type_checkers() == set(callboard.__all__)
    for name in callboard.__all__:
        assert getattr(callboard, name).__name__ == name
        assert name in dir(callboard)


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'Board'"):
        callboard.Board  # noqa: B018


def test_the_package_loads_nothing_before_a_name_is_used():
    code = "import sys, callboard, callboard.messages; print([name for name in sys.modules if 'callboard.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "['callboard.messages']"
