"""The base of the control topic's messages."""

from dataclasses import dataclass

from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberEvent(Event):
    """The base of the control topic's messages.

    ``instance`` is the sender's id, which survives restarts; ``incarnation`` identifies one run of its process. ``seq``
    grows with each message of an incarnation, so that repeated records are recognised.
    """

    instance: str
    incarnation: str
    seq: int
