"""Nothing can change an event: neither its user nor the code of callboard."""

import ast
import copy
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from enum import IntEnum
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import callboard
from callboard.messages.codec import event_classes
from callboard.messages.distribution.topic_messages import Pairs, PingMessage
from callboard.messages.event import Event, replaced

PACKAGE = Path(callboard.__file__).parent

MUTABLE = [[], {}, set(), bytearray(), object(), ("fine", []), (("fine", {"not": "fine"}),), type("Text", (str,), {})()]

BACK_DOORS = {"__dict__", "__setattr__", "__delattr__", "__setstate__", "__post_init__"}
"""Attributes through which a frozen object could be changed or made without being checked."""


def filled(kind: Any) -> Any:
    """A value of this type in which no tuple is empty and no event is absent."""
    if kind == Pairs:
        return (("name", "value"),)
    if get_origin(kind) is tuple:
        return (filled(get_args(kind)[0]),)
    if get_origin(kind) is UnionType:
        return filled(get_args(kind)[0])
    if issubclass(kind, Event):
        return kind(**{name: filled(of) for name, of in get_type_hints(kind).items()})
    return next(iter(kind)) if issubclass(kind, IntEnum) else kind()


every_class = pytest.mark.parametrize("cls", event_classes().values(), ids=event_classes())


@every_class
def test_no_field_of_an_event_can_be_set_or_deleted(cls: type[Event]) -> None:
    event = filled(cls)
    before = copy.deepcopy(event)

    for field in fields(cls):
        with pytest.raises(FrozenInstanceError):
            setattr(event, field.name, getattr(event, field.name))
        with pytest.raises(FrozenInstanceError):
            delattr(event, field.name)
    assert event == before


@every_class
def test_a_changed_copy_equals_that_of_dataclasses_replace(cls: type[Event]) -> None:
    event = filled(cls)

    for field in fields(cls):
        value = getattr(event, field.name)
        assert replaced(event, **{field.name: value}) == replace(event, **{field.name: value}) == event
    assert replaced(event, unknown=b"new") == replace(event, unknown=b"new") != event


@pytest.mark.parametrize("value", MUTABLE, ids=lambda value: type(value).__name__)
def test_a_changed_copy_refuses_mutable_values(value: Any) -> None:
    with pytest.raises(TypeError):
        replaced(PingMessage(), unknown=value)


def test_a_changed_copy_has_no_other_fields() -> None:
    with pytest.raises(TypeError, match="colour"):
        replaced(PingMessage(), colour="red")


@every_class
def test_an_event_accepts_no_further_attribute(cls: type[Event]) -> None:
    event = filled(cls)

    with pytest.raises((FrozenInstanceError, TypeError, AttributeError)):
        event.note = "new"
    assert not hasattr(event, "__dict__")


@every_class
def test_nothing_inside_an_event_can_be_changed(cls: type[Event]) -> None:
    event = filled(cls)

    for field in fields(cls):
        value = getattr(event, field.name)
        with pytest.raises(TypeError):
            value[0] = value
        with pytest.raises(TypeError):
            del value[0]


@every_class
def test_an_event_refuses_mutable_values(cls: type[Event]) -> None:
    values = {field.name: getattr(filled(cls), field.name) for field in fields(cls)}

    for name in values:
        for mutable in MUTABLE:
            with pytest.raises(TypeError, match=rf"^a {cls.__name__} was given .*; events hold only "):
                cls(**values | {name: mutable})


@every_class
def test_every_event_validates_its_fields_and_is_hashable(cls: type[Event]) -> None:
    assert cls.__post_init__ is Event.__post_init__
    assert {filled(cls): 1}[filled(cls)] == 1


@every_class
def test_a_copy_of_an_event_is_equal(cls: type[Event]) -> None:
    event = filled(cls)

    assert copy.copy(event) == event
    assert pickle.loads(pickle.dumps(event)) == event


def test_a_mutable_class_cannot_be_an_event() -> None:
    class Loose(PingMessage):
        pass

    @dataclass(frozen=True)
    class Slotless(Event):
        pass

    for cls in (Loose, Slotless):
        with pytest.raises(TypeError, match=f"{cls.__name__} is not declared; write @event"):
            cls()


def changes(tree: ast.AST) -> Iterator[str]:
    """Every expression that could change a frozen object, as far as the source shows it."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in BACK_DOORS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr="__init__", value=made)) if ast.unparse(made) != "super()":
                yield ast.unparse(node)
            case ast.Name(id="setattr" | "delattr"):
                yield ast.unparse(node)
            case ast.Constant(value=str(name)) if name in BACK_DOORS | {"setattr", "delattr"}:
                yield ast.unparse(node)
            case ast.Assign(targets=[ast.Subscript(value=ast.Call(func=ast.Name(id="vars")))]):
                yield ast.unparse(node)


def test_no_code_of_callboard_changes_an_event() -> None:
    # These change code, settings while they are made, options of new jobs to equal ones of a plain type, or name what
    # an event must not define.
    no_events = (
        "testing/simulation/planted/patch.py", "connectors/settings.py", "connectors/keys.py", "board/jobs/new_job.py",
        "messages/declared/declaration.py", "web/signin/access.py",
    )  # fmt: skip
    others = [PACKAGE / path for path in no_events]
    files = [path for path in PACKAGE.rglob("*.py") if "_pb" not in path.parts and path not in others]
    found = [f"{path}: {change}" for path in files for change in changes(ast.parse(path.read_text("utf-8")))]

    assert PACKAGE / "messages" / "event.py" in files
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "object.__setattr__(event, 'offset', 1)",
        "object.__delattr__(event, 'offset')",
        "event.__setstate__([1])",
        "event.__init__(offset=1)",
        "event.__dict__['offset'] = 1",
        "vars(event)['offset'] = 1",
        "setattr(event, 'offset', 1)",
        "change = setattr",
        "delattr(event, 'offset')",
        "getattr(object, '__setattr__')(event, 'offset', 1)",
    ],
)
def test_the_scan_finds_every_way_to_change_an_event(source: str) -> None:
    assert list(changes(ast.parse(source)))


def test_the_scan_lets_ordinary_code_pass() -> None:
    assert list(changes(ast.parse("super().__init__('x')\nself.offset = 1\nvars(kind)\ntable['a'] = 1"))) == []
