"""The message class that carries events between the actors of one agent."""

from typing import Any, NamedTuple

from callboard.messages.codec import decode_any, encode_any
from callboard.messages.event import Event

Encoded = tuple[tuple[str, bytes], ...]
"""The events' names and bytes."""


class Mail(NamedTuple):
    """Events from an incarnation of the actor ``role``; ``question`` numbers a question or its answer.

    In one process it is passed by reference. Pickled, it carries only the events' protobuf encoding.
    """

    role: str
    epoch: int
    question: int
    events: tuple[Event, ...]

    def __reduce__(self) -> tuple[Any, tuple[str, int, int, Encoded]]:
        encoded = tuple(encode_any(event) for event in self.events)
        return _unpack, (self.role, self.epoch, self.question, encoded)

    def __str__(self) -> str:
        # thespian formats every message several times for its own debug log, even when that is off.
        return "Mail"


def _unpack(role: str, epoch: int, question: int, encoded: Encoded) -> Mail:
    return Mail(role, epoch, question, tuple(decode_any(name, data) for name, data in encoded))
