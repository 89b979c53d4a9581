"""Reads older packages for the queue cache, when a query reaches back to them."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Send,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.queues.summary import summarise
from callboard.actors.publisher.roles import QUEUE_CACHE
from callboard.errors import CallboardError
from callboard.messages.distribution.queue_mail import PackagesSeen, PackageSummary, RangeDone, RangeWanted

PIECE_RECORDS = 500
"""Records read, and sent to the queue cache, at a time."""


@dataclass(frozen=True, slots=True)
class OlderPollerSettings:
    """``topic`` is the package topic. Bounds: attempts in a row at one piece, and ranges waiting."""

    topic: str
    max_attempts: int = 6
    max_waiting: int = 10_000


class OlderPoller:
    """Serves one range after the other, each in pieces; a range asked for twice is read once.

    Receives: RangeWanted (queue_cache).
    Sends: PackagesSeen (queue_cache), without a gap from the start of the range to its end, then RangeDone.
    Stores: the ranges that wait, in memory.
    Timers: "retry", the back-off after a failed read, 0.1 to 5 s.
    Gives up: on a range, after ``max_attempts`` failed attempts in a row, if too many wait, or if the log is another.
    """

    def __init__(self, settings: OlderPollerSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._ranges: deque[RangeWanted] = deque()  # the first one is being read
        self._sent = 0  # everything of it below this offset was sent
        self._first = -1
        self._attempt = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case RangeWanted():
                yield from self._want(message)
            case Done(FindBounds(), TopicBounds() as bounds):
                yield from self._bounded(bounds)
            case Done(ReadLog(), LogRead() as read):
                yield from self._read(read)
            case Failed(_, error):
                yield from self._failed(error)
            case Tick("retry"):
                yield FindBounds(self._settings.topic)
            case Stopping():
                yield Stopped()

    def _want(self, wanted: RangeWanted) -> Iterable[Effect]:
        if wanted in self._ranges:
            return
        if len(self._ranges) >= self._settings.max_waiting:
            yield _done(wanted, problem=f"{len(self._ranges)} ranges are already waiting to be read; ask again later")
            return
        self._ranges.append(wanted)
        if len(self._ranges) == 1:
            yield from self._begin()

    def _begin(self) -> Iterable[Effect]:
        self._sent, self._first, self._attempt = self._ranges[0].start, -1, 0
        yield FindBounds(self._settings.topic)

    def _bounded(self, bounds: TopicBounds) -> Iterable[Effect]:
        wanted = self._ranges[0]
        if bounds.log_id != wanted.log_id:
            yield from self._finish(_replaced(wanted))
            return
        self._first = bounds.first
        start = max(self._sent, bounds.first)
        if start < min(wanted.stop, bounds.end):
            yield self._next(start)
        else:
            yield from self._tell(wanted.stop)
            yield from self._finish()

    def _read(self, read: LogRead) -> Iterable[Effect]:
        wanted = self._ranges[0]
        if read.log_id != wanted.log_id:
            yield from self._finish(_replaced(wanted))
            return
        self._attempt = 0
        found = tuple(summarise(record) for record in read.records if record.offset < wanted.stop)
        yield from self._tell(min(read.next, wanted.stop) if read.records else wanted.stop, found)
        if self._sent < wanted.stop:
            yield self._next(self._sent)
        else:
            yield from self._finish()

    def _next(self, start: int) -> ReadLog:
        return ReadLog(self._settings.topic, start, min(PIECE_RECORDS, self._ranges[0].stop - start))

    def _tell(self, stop: int, packages: tuple[PackageSummary, ...] = ()) -> Iterable[Effect]:
        if stop > self._sent:
            log_id = self._ranges[0].log_id
            yield Send(QUEUE_CACHE, PackagesSeen(log_id=log_id, start=self._sent, stop=stop, packages=packages))
            self._sent = stop

    def _failed(self, error: CallboardError) -> Iterable[Effect]:
        self._attempt += 1
        yield note("range.failed", "warning", attempt=self._attempt, error=str(error))
        if self._attempt < self._settings.max_attempts:
            # Asking for the bounds again also tells where to continue if the start was trimmed meanwhile.
            yield After("retry", RETRY.delay_s(self._attempt, self._rng))
        else:
            yield from self._finish(f"the log cannot be read: {error}")

    def _finish(self, problem: str = "") -> Iterable[Effect]:
        yield _done(self._ranges.popleft(), self._first, problem)
        if self._ranges:
            yield from self._begin()


def _replaced(wanted: RangeWanted) -> str:
    return f"the log {wanted.log_id} was replaced by another; ask again"


def _done(wanted: RangeWanted, first: int = -1, problem: str = "") -> Send:
    done = RangeDone(log_id=wanted.log_id, start=wanted.start, stop=wanted.stop, first=first, problem=problem)
    return Send(QUEUE_CACHE, done)
