"""What ``import callboard`` gives: the same to a reader, to mypy and at run time, and not before it is used."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import callboard
from callboard import actors, errors


def names_for_type_checkers() -> set[str]:
    tree = ast.parse(Path(callboard.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {name.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for name in node.names}


def test_the_names_for_type_checkers_match_the_module():
    assert names_for_type_checkers() == {*callboard.__all__, "__version__"}
    for name in callboard.__all__:
        assert getattr(callboard, name).__name__ == name
        assert name in dir(callboard)


def test_every_error_can_be_caught_by_its_public_name():
    told = {name for name, value in vars(errors).items() if getattr(value, "__module__", "") == errors.__name__}
    assert told <= set(callboard.__all__)


def given_and_taken() -> Iterator[Any]:
    """The types of all that the methods for a service take and give; some are imported with their first use."""
    for owner in (callboard.Callboard, callboard.Publisher, callboard.Subscriber, callboard.Topology):
        for name, method in inspect.getmembers(owner, callable):
            if not name.startswith("_") or (owner, name) == (callboard.Callboard, "__init__"):
                function = inspect.unwrap(getattr(method, "__func__", method))
                names = {each: getattr(module, each) for module in (callboard, actors) for each in module.__all__}
                yield from get_type_hints(function, localns=names).values()
    yield from get_type_hints(callboard.HookCall).values()


def classes(hint: Any) -> Iterator[type]:
    """Those of callboard that a type is made of, and what they are made of."""
    for inner in get_args(hint):
        yield from classes(inner)
    hint = get_origin(hint) or hint
    if isinstance(hint, type) and hint.__module__.startswith("callboard."):
        yield hint
        if is_typeddict(hint) or hint.__module__ == callboard.Package.__module__:
            for inner in get_type_hints(hint).values():
                yield from classes(inner)


def test_every_argument_and_result_type_has_a_public_name():
    met = {each.__name__ for hint in given_and_taken() for each in classes(hint)}
    assert {"Backoff", "BoardStatus", "CommandOptions", "HeldUp", "RetentionGate"} <= met
    assert met - {*callboard.__all__, *actors.__all__} == INTERNAL


INTERNAL = {"BoardContext"}
"""What parts of the library give to each other."""


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'Board'"):
        callboard.Board  # noqa: B018


def test_the_package_loads_nothing_before_a_name_is_used():
    code = "import sys, callboard, callboard.messages; print([name for name in sys.modules if 'callboard.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "['callboard.messages']"
