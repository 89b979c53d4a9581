"""Follows a topic: finds where it begins and ends, reads, waits for more, and handles trims, replacement and failures.

The part that all readers of a topic share. The owner passes its inputs to ``handle``, acts on the news
that comes back, then yields the effects; holding them back pauses the reading.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Tick, note
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.errors import CallboardError, LogReplaced, OffsetOutOfRange
from callboard.messages.record import Record

READ_WAIT_S = 10.0
"""How long one read waits at the end of the topic. It bounds nothing else: the next read follows at once."""


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """Where to start in a topic with given bounds; ``log_id`` is the expected incarnation, if any."""

    place: Callable[[TopicBounds], int]
    log_id: str = ""


def from_end() -> StartPolicy:
    """Only records appended from now on."""
    return StartPolicy(lambda bounds: bounds.end)


def from_first() -> StartPolicy:
    """Everything retained."""
    return StartPolicy(lambda bounds: bounds.first)


def from_last(offsets: int) -> StartPolicy:
    """The retained part of the newest ``offsets`` offsets (gaps count, so there may be fewer records)."""
    return StartPolicy(lambda bounds: max(bounds.first, bounds.end - offsets))


def from_offset(offset: int, log_id: str) -> StartPolicy:
    """From ``offset`` of the incarnation ``log_id``; any other incarnation from its first record."""
    return StartPolicy(lambda bounds: offset if bounds.log_id == log_id else bounds.first, log_id)


@dataclass(frozen=True, slots=True)
class Positioned:
    """The follower has its position and reads from ``offset``. Sent once, unless other news comes first."""

    offset: int
    bounds: TopicBounds


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """The offset ``expected`` is not, or no longer, retained. Continues at ``bounds.first``, or stops to report."""

    expected: int
    bounds: TopicBounds


@dataclass(frozen=True, slots=True)
class Replaced:
    """Another incarnation than ``log_id``. Starts over by its start policy, or stops to report."""

    log_id: str
    bounds: TopicBounds


@dataclass(frozen=True, slots=True)
class Delivered:
    """Every record in ``[start, next)``; empty if the wait found none."""

    start: int
    next: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The log failed for the ``attempt``-th time in a row; the follower retries by itself."""

    reason: str
    attempt: int


News = Positioned | Delivered | OutOfRange | Replaced | Unavailable
Answer = tuple[News | None, tuple[Effect, ...]]


class Follower:
    """Reads one topic in order, one read at a time.

    With ``report`` it stops after ``OutOfRange`` and ``Replaced``, for an owner that must decide about these;
    otherwise it continues by itself. After any failure it checks the topic's identity and bounds again, so
    a log that was restored, trimmed or replaced meanwhile is noticed. ``wait_s`` is in seconds. Followers of one topic
    in one actor yield equal effects, so each of them needs its own ``owner``.
    """

    def __init__(
        self,
        topic: str,
        start: StartPolicy,
        rng: Random,
        *,
        owner: str = "",
        report: bool = False,
        max_records: int = 500,
        max_bytes: int = 4 << 20,
        wait_s: float = READ_WAIT_S,
    ) -> None:
        self.topic = topic
        self.log_id = start.log_id
        """The incarnation being read; empty until known."""
        self.position = -1
        """The next offset to read; -1 until ``Positioned``."""
        self.caught_up = False
        """Whether everything on the topic when the follower was positioned has been delivered."""
        self._policy = start
        self._rng = rng
        self._owner = owner
        self._report = report
        self._limits = (max_records, max_bytes)
        self._wait_s = wait_s
        self._history_end = -1
        self._attempt = 0
        self._pending: FindBounds | ReadLog | None = None  # answers to any other effect are outdated
        self._timer = f"follow {topic}"

    def start(self) -> tuple[Effect, ...]:
        """The effects that begin reading, or resume it after a stop to report."""
        find = FindBounds(self.topic, owner=self._owner)
        self._pending = find
        return (find,)

    def handle(self, message: Input) -> Answer:
        """Handle an input of this follower; for any other input return ``(None, ())``."""
        match message:
            case Done(effect, TopicBounds() as bounds) if effect == self._pending:
                return self._place(bounds)
            case Done(effect, LogRead() as read) if effect == self._pending:
                return self._advance(read)
            case Failed(effect, error) if effect == self._pending:
                return self._fail(error)
            case Tick(self._timer) if self._attempt and self._pending is None:
                return None, self.start()
        return None, ()

    def _place(self, bounds: TopicBounds) -> Answer:
        news = self._find_place(bounds)
        self._history_end = bounds.end
        self.caught_up = self.position >= bounds.end or (self.caught_up and news is None)
        if self._report and isinstance(news, Replaced | OutOfRange):
            self._pending = None
            return news, ()
        return news, (self._read(),)

    def _find_place(self, bounds: TopicBounds) -> News | None:
        known, self.log_id = self.log_id, bounds.log_id
        if known not in {"", bounds.log_id}:
            self.position = self._policy.place(bounds)
            return Replaced(known, bounds)
        fresh = self.position < 0
        expected = self._policy.place(bounds) if fresh else self.position
        if not bounds.first <= expected <= bounds.end:
            self.position = bounds.first
            return OutOfRange(expected, bounds)
        self.position = expected
        return Positioned(expected, bounds) if fresh else None

    def _advance(self, read: LogRead) -> Answer:
        if read.log_id != self.log_id:
            return self._fail(LogReplaced(f"topic {self.topic!r} is now {read.log_id}"))
        resumed = self._attempt > 0
        self._attempt = 0
        delivered = Delivered(self.position, read.next, read.records)
        self.position = read.next
        # The end may lie behind a gap without records, so finding nothing also means that everything is read.
        self.caught_up = self.caught_up or self.position >= self._history_end or not read.records
        effects: tuple[Effect, ...] = (self._read(),)
        return delivered, (note("log.resumed", topic=self.topic), *effects) if resumed else effects

    def _fail(self, error: CallboardError) -> Answer:
        pending, self._pending = self._pending, None
        self._attempt += 1
        wait = After(self._timer, RETRY.delay_s(self._attempt, self._rng))
        if isinstance(error, OffsetOutOfRange | LogReplaced) and not isinstance(pending, FindBounds):
            return None, (wait,)  # the cause is reported once the bounds are known
        level = "warning" if self._attempt == 1 else "debug"
        line = note("log.failed", level, topic=self.topic, attempt=self._attempt, error=str(error))
        return Unavailable(str(error), self._attempt), (line, wait)

    def _read(self) -> ReadLog:
        max_records, max_bytes = self._limits
        wait_s = self._wait_s if self.caught_up else 0.0
        read = ReadLog(self.topic, self.position, max_records, max_bytes, wait_s, owner=self._owner)
        self._pending = read
        return read
