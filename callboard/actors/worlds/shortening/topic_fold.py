"""A fold over a whole topic that knows which of its records are still needed."""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from callboard.actors.publisher.fleet.liveness import AppendTimes
from callboard.backends.log import Log
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import Record
from callboard.messages.repeated import original_of
from callboard.messages.untrusted import distrust_of

TROUBLE_S = 30 * 86_400.0
"""A record of a newer version is kept for as long as a command: by then its writer has written again, and a record that
is unreadable for good must not keep a topic from being shortened for ever."""

READ_RECORDS = 250
"""Records folded at once: some milliseconds of work, in which a service that embeds this does nothing else."""


class TopicFold(ABC):
    """Reads the topic from its first record, then new records; starts over if the topic is replaced."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.log_id = ""
        self.next = -1
        """The end of what was read."""
        self._trouble = "", 0
        self._first_read = 0
        self._times = AppendTimes()
        self._offsets = array("q")
        self._times_ns = array("q")  # of the same records, never falling
        self._repetitions: dict[int, int] = {}  # by the offset read to, the offset of the last record repeated then

    def start_over(self) -> None:
        """Forget everything: the topic was replaced."""
        self.next, self._trouble, self._times = -1, ("", 0), AppendTimes()
        self._offsets, self._times_ns = array("q"), array("q")
        self._repetitions = {}

    @property
    def now_ns(self) -> int:
        """When the newest record was appended. Only this counts as the present: a clock that is ahead must not make
        everything old.
        """
        return self._times_ns[-1] if self._times_ns else 0

    @property
    def problem(self) -> str:
        """Why it is unknown which records are needed: a record of a newer version."""
        text, since_ns = self._trouble
        return text if self.now_ns - since_ns <= TROUBLE_S * 1e9 else ""

    def trouble(self, text: str, seen_ns: int) -> None:
        """This record cannot be read, and may be needed."""
        self._trouble = text, seen_ns

    @abstractmethod
    def fold(self, record: Record, seen_ns: int) -> None:
        """Fold the next record, appended at ``seen_ns``."""

    @abstractmethod
    def needed(self) -> Iterable[int]:
        """The offsets of the records that no later record replaces."""

    @abstractmethod
    def needs(self, record: Record) -> bool:
        """Whether this record is needed now."""

    async def catch_up(self, log: Log, now_ns: int) -> None:
        """Fold the records appended since the last time."""
        log_id = await log.identity(self.topic)
        if log_id != self.log_id:
            self.start_over()
            self.log_id = log_id
        first, end = await log.bounds(self.topic)
        if self.next < first:
            self.next = self._first_read = first
        self._drop_below(first)
        while self.next < end:
            try:
                found = await log.read(self.topic, self.next, READ_RECORDS)
            except OffsetOutOfRange as error:  # trimmed meanwhile
                if error.first <= self.next:
                    raise
                self.next = self._first_read = error.first
                continue
            for record, before_ns in zip(found, _until(found, now_ns), strict=True):
                self._take(record, now_ns, before_ns)
            self.next = found[-1].offset + 1 if found else end

    def _drop_below(self, first: int) -> None:
        gone = bisect_left(self._offsets, first)
        del self._offsets[:gone], self._times_ns[:gone]
        self._repetitions = {to: at for to, at in self._repetitions.items() if at >= first}

    def _take(self, record: Record, now_ns: int, before_ns: int) -> None:
        if distrust_of(record):
            self._offsets.append(record.offset)
            self._times_ns.append(self.now_ns)
            return
        seen_ns = self._times.take(record, now_ns)
        if record.time_ns > now_ns:  # a time in the future proves nothing
            seen_ns = max(before_ns, self.now_ns)
        self._offsets.append(record.offset)
        self._times_ns.append(max(seen_ns, self.now_ns))
        if (original := original_of(record)) is not None:
            self._repetitions[original.read_to] = record.offset
        self.fold(record, seen_ns)

    def older_than(self, age_s: float) -> int:
        """The end of the records appended at least this long before the newest."""
        number = bisect_left(self._times_ns, self.now_ns - round(age_s * 1e9))
        return self._offsets[number] if number < len(self._offsets) else self.next

    def all_but(self, count: int) -> int:
        """The end of the records except the newest ``count``."""
        return self._offsets[-count] if 0 < count <= len(self._offsets) else (self.next if not count else -1)

    def count_below(self, offset: int) -> int:
        """How many records lie before the offset."""
        return bisect_left(self._offsets, offset)

    def last_cut(self, below: int) -> int:
        """This offset, or the nearest one before it where the topic may begin: a reader that starts there sees, with a
        repeated record, all that is newer than it.
        """
        while within := [to for to, at in self._repetitions.items() if to < below <= at]:
            below = min(within)
        return below


def _until(records: Sequence[Record], now_ns: int) -> list[int]:
    """For each of these records the latest time when it can have been appended, by those that follow."""
    times_ns = [now_ns, *(record.time_ns for record in reversed(records))][: len(records)]  # of each one's followers
    return list(accumulate(times_ns, min))[::-1]
