"""What an actor can ask of the log, as data. ``worlds/log_world.py`` carries it out, on any log."""

from dataclasses import dataclass

from callboard.actors.core.decision import Perform
from callboard.messages.record import NewRecord, Record


@dataclass(frozen=True, slots=True)
class FindBounds(Perform):
    """Result ``TopicBounds``: where the topic begins and ends, and its identity."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicBounds:
    """The retained range ``[first, end)`` of the topic incarnation ``log_id``."""

    log_id: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadLog(Perform):
    """Result ``LogRead``; at the end of the topic, waits up to ``wait_s`` seconds for more."""

    topic: str
    start: int
    max_records: int = 500
    max_bytes: int = 4 << 20
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LogRead:
    """The records found, and ``next``, where to read on. Every record in ``[start, next)`` is included."""

    log_id: str
    records: tuple[Record, ...]
    next: int


@dataclass(frozen=True, slots=True)
class Append(Perform):
    """Result: the tuple of offsets."""

    topic: str
    records: tuple[NewRecord, ...]


@dataclass(frozen=True, slots=True)
class EnsureTopic(Perform):
    """Result None: the topic exists."""

    topic: str


@dataclass(frozen=True, slots=True)
class TrimTopic(Perform):
    """Result None. Records below the offset were removed, if the log can do this, and the topic is still ``log_id``."""

    topic: str
    log_id: str
    below: int
