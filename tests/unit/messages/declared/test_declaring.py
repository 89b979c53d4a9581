"""What is wrong with a declaration is said where it is made: which class, which field, and what to do."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pytest

from callboard.actors import Event, Question, event
from callboard.errors import ConfigError
from callboard.messages.codec import decode, decode_any, encode, encode_any
from tests.unit.messages.declared.bank import Deposited, Money


class Plain(Event):
    """Not declared."""


class Empty(IntEnum):
    """No members."""


class Huge(IntEnum):
    LARGE = 2**40


class Outside:
    """It has attributes."""


@pytest.mark.parametrize(
    "name",
    ["", "deposited", "Bank.Deposited", "bank.", ".bank", "bank..x", "bank.x-y", "bank.1x", "bank.x_", "bank.ü",
     "a." * 60 + "a", "PackageMessage", None, 5, b"bank.x", "bank.x\n"],
)  # fmt: skip
def test_a_name_is_lower_case_words_with_dots(name: Any) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of an event; use 3 to 100 of"):
        event(name, version=1)


def test_the_names_of_callboard_are_its_own() -> None:
    with pytest.raises(ConfigError, match=r"'callboard\.package' begins like those of callboard; choose another"):
        event("callboard.package", version=1)


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, 10**9])
def test_a_version_is_a_whole_number_from_1(version: Any) -> None:
    with pytest.raises(ConfigError, match=r"the version of 'test.version' is .*; count versions from 1"):
        event("test.version", version=version)


@pytest.mark.parametrize("cls", [object, int, Outside, "Deposited", print, None])
def test_only_an_event_can_be_declared(cls: Any) -> None:
    with pytest.raises(ConfigError, match="is no Event; write it as: class Deposited"):
        event("test.no_event", version=1)(cls)


BAD_FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a list": ({"x": list[int]}, {}, "x is a list.int., which an event cannot hold; use int, str"),
    "a bare tuple": ({"x": tuple}, {}, "cannot hold"),
    "a pair": ({"x": tuple[int, str]}, {}, "cannot hold"),
    "a tuple of tuples": ({"x": tuple[tuple[int, ...], ...]}, {}, "cannot hold"),
    "a dict": ({"x": dict[str, int]}, {}, "cannot hold"),
    "anything": ({"x": Any}, {}, "cannot hold"),
    "text or nothing": ({"x": str | None}, {"x": None}, "cannot hold"),
    "two events": ({"x": Money | Deposited}, {}, "cannot hold"),
    "an event that is not declared": ({"x": Plain}, {}, "cannot hold"),
    "an enum without members": ({"x": Empty}, {}, "cannot hold"),
    "an enum of large numbers": ({"x": Huge}, {}, "cannot be a message"),
    "an unknown name": ({"x": "Nowhere"}, {}, "cannot be known: name 'Nowhere' is not defined; declare what they hold"),
    "an expression that fails": ({"x": "1/0"}, {}, "cannot be known: division by zero"),
    "a mutable default": ({"x": int}, {"x": []}, "x is not allowed; use plain defaults, such as .. for a tuple"),
    "a factory": ({"x": int}, {"x": field(default_factory=int)}, "a plain default"),
    "a field that is not given": ({"x": int}, {"x": field(init=False, default=1)}, "a plain default"),
    "a default of another type": ({"x": int}, {"x": "5"}, "x has the default '5', which it cannot hold"),
    "a default of more bits": ({"x": int}, {"x": 2**63}, "which it cannot hold"),
    "None for an integer": ({"x": int}, {"x": None}, "default None, which it cannot hold"),
    "None without a default": ({"x": Money | None}, {}, "can be None, but that is not its default"),
    "an event as default": ({"x": Money}, {"x": Money()}, "has an event as its default; remove it"),
    "a full tuple as default": ({"x": tuple[int, ...]}, {"x": (1,)}, "a tuple has the default"),
    "the field of every event": ({"unknown": bytes}, {}, "unknown is a field of every event; give yours another"),
    "a capital": ({"X": int}, {}, "X cannot be the name of a field; use a-z"),
    "a hidden name": ({"_x": int}, {}, "_x cannot be the name of a field"),
    "a foreign letter": ({"größe": int}, {}, "cannot be the name of a field"),
    "its own constructor": ({"x": int}, {"__init__": lambda self: None}, "defines __init__, which does not run when"),
    "its own check": ({"x": int}, {"__post_init__": lambda self: None}, "check input before you make an event"),
    "slots": ({"x": int}, {"__slots__": ("x",)}, "cannot be a frozen dataclass"),
    "upcast with arguments": ({"x": int}, {"upcast": lambda self, more: self}, "upcast takes more than self"),
}


@pytest.mark.parametrize(("annotations", "names", "why"), BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_a_class_that_cannot_be_an_event_says_why(annotations: Any, names: Any, why: str) -> None:
    cls = type("Bad", (Event,), {"__annotations__": annotations, "__module__": __name__, **names})
    with pytest.raises(ConfigError, match=why) as raised:
        event("test.bad", version=1)(cls)
    assert "Bad" in str(raised.value)


@pytest.mark.parametrize("base", [Money, type("Mixed", (Outside, Event), {})])
def test_fields_are_not_inherited(base: type[Event]) -> None:
    cls = type("Heir", (base,), {"__annotations__": {"x": int}})
    with pytest.raises(ConfigError, match=r"Heir inherits from .*, which has attributes of its own; inherit"):
        event("test.heir", version=1)(cls)


def test_a_dataclass_is_refused_because_the_decorator_makes_one() -> None:
    with pytest.raises(ConfigError, match="is a dataclass already; remove @dataclass"):

        @event("test.dataclass", version=1)
        @dataclass(frozen=True, slots=True, kw_only=True)
        class Twice(Event):
            x: int


@pytest.mark.parametrize("base", [Question, Question["Money"], Question[int], Question[Money | None]])  # type: ignore[type-var]  # on purpose
def test_a_question_says_which_event_answers_it(base: Any) -> None:
    with pytest.raises(ConfigError, match="Asked does not say which event answers it; write it as: class Asked"):

        @event("test.asked", version=1)
        class Asked(base):  # type: ignore[misc]  # a base that mypy does not know
            x: int


def test_a_question_may_have_one_of_several_answers() -> None:
    @event("test.union", version=1)
    class Asked(Question[Money | Deposited]):
        x: int

    assert Asked(x=1).x == 1


def declare(name: str, version: int, place: str, **names: Any) -> type[Event]:
    cls = type(place, (Event,), {"__annotations__": {"x": int}, "__module__": __name__, **names})
    return event(name, version=version)(cls)


def test_one_class_has_a_name_and_version() -> None:
    declare("test.taken", 1, "First")
    with pytest.raises(ConfigError, match=r"\.Second declares version 1 of 'test.taken' \(.*\.First\) again; give one"):
        declare("test.taken", 1, "Second")


@pytest.mark.parametrize("versions", [(1, 2), (2, 1), (1, 5)])
def test_every_older_version_has_an_upcast(versions: tuple[int, int]) -> None:
    name = f"test.v{versions[0]}_{versions[1]}"
    declare(name, versions[0], f"V{versions[0]}")
    with pytest.raises(ConfigError, match=r"V1 is older than version \d of .* but has no upcast\(\); give it one"):
        declare(name, versions[1], f"V{versions[1]}")


def test_a_module_that_is_imported_again_declares_its_events_again() -> None:
    first, second = (declare("test.reloaded", 1, "Reloaded") for _ in range(2))
    assert first is not second
    assert [decode(cls, encode(cls(x=1))).x for cls in (first, second)] == [1, 1]
    assert decode_any(*encode_any(first(x=1))) == second(x=1)


def test_a_failed_declaration_declares_nothing() -> None:
    with pytest.raises(ConfigError):
        declare("test.failed", 1, "Failed", x="text")
    assert declare("test.failed", 1, "Corrected")(x=1).x == 1  # type: ignore[call-arg, attr-defined]  # made above


@pytest.mark.parametrize("name", ["event", "Event", "Question", "record_of", "event_of", "proto"])
def test_the_names_for_services_are_imported_with_their_first_use(name: str) -> None:
    import callboard.actors

    assert getattr(callboard.actors, name).__name__ == name
    assert name in dir(callboard.actors)
    with pytest.raises(AttributeError, match="has no attribute 'evnt'"):
        callboard.actors.evnt  # noqa: B018
