"""What every message of the control topic has."""

from dataclasses import dataclass

from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberEvent(Event):
    """The base of the control topic's messages.

    ``instance`` is the id that the sender keeps over restarts, and ``incarnation`` the id of one life of its process.
    ``seq`` grows with each message of an incarnation, so that a repeated record does nothing.
    """

    instance: str
    incarnation: str
    seq: int
