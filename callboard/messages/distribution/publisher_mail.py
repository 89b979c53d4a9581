"""What else the actors of a publisher agent are asked: about themselves, for metrics. Never on the log."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import CommandResultMessage, Histogram
from callboard.messages.event import Event
from callboard.messages.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter(Event):
    """``value`` of what is called ``name``, such as ``requests_accepted``."""

    name: str
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations(Event):
    """How long each took of what is called ``name``."""

    name: str
    histogram: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters(Event):
    """What the actor has counted since this incarnation of it started, by name."""

    counters: tuple[Counter, ...] = ()
    durations: tuple[Durations, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountersQuery(Question[Counters]):
    """What have you counted since you started? Any actor that counts answers with ``Counters``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResultQuery(Question[CommandResultMessage]):
    """Answer with the ``CommandResultMessage`` of this command once it is on the log."""

    command_id: str
