"""The base class of all events: plain data that cannot change."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from enum import IntEnum
from operator import attrgetter
from typing import Any, TypeVar

_IMMUTABLE: set[type] = {str, bytes, int, float, bool, type(None)}
"""Types whose instances cannot change. Event and enum types are added when first seen, so that a long tuple of them is
checked by set look-ups: every package makes a new ledger, with all the pending statuses."""


E = TypeVar("E", bound="Event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The base of every message: frozen, slotted, and deeply immutable by construction.

    ``unknown`` holds the encoded fields that this version does not know, so that an older version
    passes on what a newer one wrote.

    Raises ``TypeError`` when a field is given a mutable value (a list, a dict, a bytearray, ...).
    """

    unknown: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        # Runs for every new event, so the common case is one call and one set look-up per field.
        kind = type(self)
        for value in (_READERS.get(kind) or _reader(kind))(self):
            if type(value) not in _IMMUTABLE and not _is_immutable(value):
                raise TypeError(
                    f"a {kind.__name__} was given {value!r:.80}; events hold only str, bytes, int, float, "
                    "bool, None, enums, events and tuples of these"
                )


def _is_immutable(value: Any) -> bool:
    kind = type(value)
    if kind is tuple:
        return _IMMUTABLE.issuperset(map(type, value)) or all(map(_is_immutable, value))
    if kind not in _IMMUTABLE and isinstance(value, _SEALED):
        _IMMUTABLE.add(kind)
    return kind in _IMMUTABLE


_SEALED = (Event, IntEnum)
"""Nested events were checked when they were made."""


def replaced(event: E, **changes: Any) -> E:
    """A copy with these fields changed: like ``dataclasses.replace``, but far faster, checking only new values.

    Raises ``TypeError`` for a mutable value and for an unknown field.
    """
    kind = type(event)
    setters = _SETTERS.get(kind) or _setters(kind)
    copy: E = (_COPIERS.get(kind) or _copier(kind))(event)
    for name, value in changes.items():
        if name not in setters or (type(value) not in _IMMUTABLE and not _is_immutable(value)):
            raise TypeError(f"{kind.__name__} cannot have {name}={value!r:.80}")
        setters[name](copy, value)
    return copy


def unchecked(kind: type[E]) -> Callable[..., E]:
    """A constructor of this class that does not look at the values, at a quarter of the cost: for those who read very
    many events, of values that cannot change. Every field has to be given, but those with a default.
    """
    setters, defaults = _setters(kind), {its.name: its.default for its in fields(kind)}
    names: dict[str, Any] = {"_new": object.__new__, "_kind": kind}
    names |= {f"set_{name}": set_field for name, set_field in setters.items()}
    names |= {f"default_{name}": default for name, default in defaults.items()}
    given = (name if default is MISSING else f"{name}=default_{name}" for name, default in defaults.items())
    lines = [f"def make(*, {', '.join(given)}):", "    _event = _new(_kind)"]
    lines += [f"    set_{name}(_event, {name})" for name in setters]
    exec("\n".join([*lines, "    return _event"]), names)  # noqa: S102 - of the names of fields
    function: Callable[..., E] = names["make"]
    return function


_READERS: dict[type[Event], Callable[[Event], tuple[Any, ...]]] = {}
"""For each event class, the function that reads all its fields at once."""

_COPIERS: dict[type[Event], Callable[[Any], Any]] = {}
"""For each event class, the function that copies an event: written for it, as a loop takes three times as long."""

_SETTERS: dict[type[Event], dict[str, Callable[[Any, Any], None]]] = {}
"""For each event class, by field, the function that sets it in a new event."""


def _setters(kind: type[Event]) -> dict[str, Callable[[Any, Any], None]]:
    return _SETTERS.setdefault(kind, {field.name: getattr(kind, field.name).__set__ for field in fields(kind)})


def _copier(kind: type[Event]) -> Callable[[Any], Any]:
    setters = _setters(kind)
    names: dict[str, Any] = {"_new": object.__new__, "_kind": kind}
    names |= {f"set_{name}": set_field for name, set_field in setters.items()}
    lines = ["def copied(_event):", "    _copy = _new(_kind)", *(f"    set_{it}(_copy, _event.{it})" for it in setters)]
    exec("\n".join([*lines, "    return _copy"]), names)  # noqa: S102 - of the names of fields
    return _COPIERS.setdefault(kind, names["copied"])


def _reader(kind: type[Event]) -> Callable[[Event], tuple[Any, ...]]:
    if "__slots__" not in vars(kind):  # its instances could be given further attributes
        own = "callboard's own are @dataclass(frozen=True, slots=True, kw_only=True)"
        what = f"the class {kind.__name__} is not declared"
        raise TypeError(f"{what}; write @event('bank.deposited', version=1) above it ({own})")
    names = [field.name for field in fields(kind)]
    # The first name stands twice because attrgetter returns a tuple only for two names or more.
    return _READERS.setdefault(kind, attrgetter(names[0], *names))
