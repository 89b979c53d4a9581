"""Questions to the actors of a publisher agent about their metrics. Never on the log."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import CommandResultMessage, Histogram
from callboard.messages.event import Event
from callboard.messages.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter(Event):
    """The ``value`` of the counter ``name``, such as ``requests_accepted``."""

    name: str
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations(Event):
    """The durations of everything counted as ``name``."""

    name: str
    histogram: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters(Event):
    """What this incarnation of the actor has counted since it started, by name."""

    counters: tuple[Counter, ...] = ()
    durations: tuple[Durations, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountersQuery(Question[Counters]):
    """Asks an actor for its ``Counters``; any actor that counts answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResultQuery(Question[CommandResultMessage]):
    """Answer with the ``CommandResultMessage`` of this command once it is on the log."""

    command_id: str
