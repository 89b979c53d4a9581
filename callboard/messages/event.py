"""What every event has in common: it is data, and it cannot change."""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

_ATOMS = (str, bytes, int, float, bool, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The base of every message: frozen, slotted, and deeply immutable by construction.

    ``unknown`` holds the encoded fields that this version does not know, so that a reader of an
    older version passes on what a newer one wrote.

    Raises ``TypeError`` when a field is given a mutable value (a list, a dict, a bytearray, ...).
    """

    unknown: bytes = b""

    def __post_init__(self) -> None:
        for field in fields(self):
            _demand_immutable(f"{type(self).__name__}.{field.name}", getattr(self, field.name))


def _demand_immutable(where: str, value: Any) -> None:
    if type(value) in _ATOMS or isinstance(value, Event | IntEnum):
        return
    if type(value) is tuple:
        for item in value:
            _demand_immutable(where, item)
        return
    raise TypeError(f"{where} was given a {type(value).__name__}; events hold only "
                    "str, bytes, int, float, bool, None, enums, events and tuples of these")
