"""What every event has in common: it is data, and it cannot change."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import IntEnum
from operator import attrgetter
from typing import Any

_ATOMS = frozenset((str, bytes, int, float, bool, type(None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The base of every message: frozen, slotted, and deeply immutable by construction.

    ``unknown`` holds the encoded fields that this version does not know, so that a reader of an
    older version passes on what a newer one wrote.

    Raises ``TypeError`` when a field is given a mutable value (a list, a dict, a bytearray, ...).
    """

    unknown: bytes = b""

    def __post_init__(self) -> None:
        # Runs for every event that is made, so the common case is one call and one set look-up per field.
        kind = type(self)
        for value in (_READERS.get(kind) or _reader(kind))(self):
            if type(value) not in _ATOMS and not _is_immutable(value):
                raise TypeError(
                    f"a {kind.__name__} was given {value!r:.80}; events hold only str, bytes, int, float, "
                    "bool, None, enums, events and tuples of these"
                )


def _is_immutable(value: Any) -> bool:
    if type(value) is tuple:
        return _ATOMS.issuperset(map(type, value)) or all(map(_is_immutable, value))
    return type(value) in _ATOMS or isinstance(value, _SEALED)


_SEALED = (Event, IntEnum)
"""An event within an event was checked when it was made."""

_READERS: dict[type[Event], Callable[[Event], tuple[Any, ...]]] = {}
"""For each class of event, the function that reads all its fields at once."""


def _reader(kind: type[Event]) -> Callable[[Event], tuple[Any, ...]]:
    if "__slots__" not in vars(kind):  # its instances could be given further attributes
        raise TypeError(f"declare {kind.__name__} as @dataclass(frozen=True, slots=True, kw_only=True)")
    names = [field.name for field in fields(kind)]
    # The first name stands twice because attrgetter answers with a tuple only for two names or more.
    return _READERS.setdefault(kind, attrgetter(names[0], *names))
