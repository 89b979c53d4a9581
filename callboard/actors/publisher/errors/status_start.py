"""Where to start reading the status topic: statuses of packages that the log no longer has are useless."""

from collections.abc import Iterable

from callboard.actors.core.decision import Done, Effect, Failed, Input
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.core.follower import StartPolicy, from_first, from_offset

MARGIN_NS = 3600 * 10**9
"""The clocks that stamp the records of two topics may differ, though hardly by an hour."""


class StatusStart:
    """Finds the first status that is not older than the oldest package, by bisection over record times.

    The owner passes its inputs to ``handle`` until ``found`` is set. If the log does something unexpected, the answer
    is to read everything, which is always right.
    """

    def __init__(self, package_topic: str, status_topic: str) -> None:
        self.found: StartPolicy | None = None
        self._packages = FindBounds(package_topic)
        self._statuses = FindBounds(status_topic)
        self._log_id = ""
        self._oldest_ns = 0
        self._low = self._high = -1  # the start is in [low, high]
        self._pending: Effect | None = None

    def start(self) -> Iterable[Effect]:
        """The effects that begin the search."""
        yield from self._perform(self._packages)

    def handle(self, message: Input) -> Iterable[Effect]:
        """Handle an input if it belongs to the search."""
        match message:
            case Done(effect, TopicBounds() as bounds) if effect == self._pending == self._packages:
                if bounds.first == bounds.end:
                    self.found = from_first()  # without packages there is no age limit
                else:
                    yield from self._perform(ReadLog(self._packages.topic, bounds.first, max_records=1))
            case Done(effect, TopicBounds() as bounds) if effect == self._pending:
                self._log_id, self._low, self._high = bounds.log_id, bounds.first, bounds.end
                yield from self._bisect()
            case Done(effect, LogRead() as read) if effect == self._pending and self._low < 0:
                self._oldest_ns = read.records[0].time_ns - MARGIN_NS if read.records else 0
                yield from self._perform(self._statuses)
            case Done(effect, LogRead() as read) if effect == self._pending:
                self._halve(read)
                yield from self._bisect()
            case Failed(effect, _) if effect == self._pending:
                self.found = from_first()

    def _halve(self, read: LogRead) -> None:
        middle = (self._low + self._high) // 2
        record = read.records[0] if read.records else None
        if record is not None and record.time_ns < self._oldest_ns:
            self._low = min(record.offset + 1, self._high)
        else:
            self._high = middle

    def _bisect(self) -> Iterable[Effect]:
        if self._low < self._high:
            yield from self._perform(ReadLog(self._statuses.topic, (self._low + self._high) // 2, max_records=1))
        else:
            self.found = from_offset(self._low, self._log_id)

    def _perform(self, effect: FindBounds | ReadLog) -> Iterable[Effect]:
        self._pending = effect
        yield effect
