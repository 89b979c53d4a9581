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
        return PackedMail(self).__reduce__()

    def __str__(self) -> str:
        # thespian formats every message several times for its own debug log, even when that is off.
        return "Mail"


class PackedMail:
    """Mail whose events are encoded already, so that one that cannot be is noticed before it is sent: thespian drops
    what cannot be pickled. It arrives as ``Mail``.
    """

    __slots__ = ("_parts",)

    def __init__(self, mail: Mail) -> None:
        encoded = tuple(encode_any(event) for event in mail.events)
        self._parts = mail.role, mail.epoch, mail.question, encoded

    def __reduce__(self) -> tuple[Any, tuple[str, int, int, Encoded]]:
        return _unpack, self._parts

    def __str__(self) -> str:
        return "Mail"


def _unpack(role: str, epoch: int, question: int, encoded: Encoded) -> Mail:
    return Mail(role, epoch, question, tuple(decode_any(name, data) for name, data in encoded))
