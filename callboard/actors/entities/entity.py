"""What a service declares: the state of an entity, what a command does to it, and what an event does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from callboard.messages.event import Event


class Facts(NamedTuple):
    """What a decision may know besides the state and the command.

    ``exists`` is false before the first event and after ``Deleted``. ``version`` counts the entity's commits. The time
    is that of the process that decides.
    """

    key: str
    exists: bool
    version: int
    now_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Event):
    """The base of the states of entities. All fields need a default: a new entity is made without arguments.

    Both methods are pure, and must not block: no clock, no randomness, no I/O. ``evolve`` must never refuse what
    ``decide`` once allowed, since it also reads what is long on the log.
    """

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:  # noqa: ARG002 - every class has its own
        """The events that this command leads to; none if nothing is to change.

        Raises ``CommandRefused``, which the caller gets.
        """
        raise TypeError(f"{type(self).__name__} has no decide()")

    def evolve(self, event: Event) -> Self:  # noqa: ARG002 - every class has its own
        """The state after this event."""
        raise TypeError(f"{type(self).__name__} has no evolve()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted(Event):
    """The last event of a decision that deletes the entity. A later command finds a new one."""
