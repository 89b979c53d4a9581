"""The newest records of a topic, in bounded memory."""

from bisect import bisect_left
from itertools import accumulate
from operator import attrgetter

from callboard.backends.logs.limits import record_bytes
from callboard.messages.record import Record

_offset_of = attrgetter("offset")


class Recent:
    """All retained records with offsets in ``[low, next)``; above ``max_bytes``, the oldest are dropped.

    Args:
        max_bytes: limit of their total size.
    """

    def __init__(self, max_bytes: int) -> None:
        self.low = self.next = 0
        self._first = 0
        self._max_bytes = max_bytes
        self._bytes = 0
        self._records: list[Record] = []
        self._sizes: list[int] = []

    def covers(self, start: int) -> bool:
        """Whether a read from ``start`` can be answered from here, even if with no records."""
        return self.low <= start <= self.next

    def holds(self, start: int) -> bool:
        """Whether there is a record with an offset of at least ``start``."""
        return bool(self._records) and self._records[-1].offset >= start

    def slice(self, start: int, max_records: int, max_bytes: int) -> list[Record]:
        """See ``Log.read``, for a ``start`` that is covered."""
        begin = bisect_left(self._records, start, key=_offset_of)
        totals = accumulate(self._sizes[begin : begin + max_records])
        within = sum(total <= max_bytes for total in totals)
        return self._records[begin : begin + min(max_records, max(within, 1))]

    def extend(self, start: int, records: list[Record]) -> None:
        """Add the records read from ``start``; if they do not continue the present ones, these are dropped."""
        if start != self.next:
            self.low = self.next = start
            self._records, self._sizes, self._bytes = [], [], 0
        sizes = list(map(record_bytes, records))
        self._records += records
        self._sizes += sizes
        self._bytes += sum(sizes)
        self.next = records[-1].offset + 1 if records else start
        self._drop()

    def trimmed(self, first: int) -> None:
        """Drop the records below ``first``, now and later."""
        self._first = max(first, self._first)
        self._drop()

    def _drop(self) -> None:
        count = 0
        while count < len(self._records) and (
            self._bytes > self._max_bytes or self._records[count].offset < self._first
        ):
            self._bytes -= self._sizes[count]
            self.low = self._records[count].offset + 1
            count += 1
        self.low = max(self.low, self._first)
        del self._records[:count], self._sizes[:count]
