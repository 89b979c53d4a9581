"""One reader per process and topic, fanned out in memory."""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, takewhile
from operator import attrgetter

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Log, Retention
from callboard.backends.logs.limits import record_bytes
from callboard.backends.wake_up import WakeUp
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import NewRecord, Record

TAIL_BYTES_MAX = 32 << 20
"""What the recent records of one topic may take."""

_offset_of = attrgetter("offset")


class _Tail:
    """The newest records that anyone read: all retained ones in ``[low, next)``."""

    def __init__(self) -> None:
        self.low = self.next = self.first = 0
        self.records: list[Record] = []
        self.sizes: list[int] = []
        self.bytes = 0
        self.identity = ""
        self.lock = asyncio.Lock()
        self.followed = False
        self.moved = WakeUp()

    def move_to(self, start: int) -> None:
        """Forget everything, and go on from ``start``."""
        self.low = self.next = start
        self.records, self.sizes, self.bytes = [], [], 0

    def extend(self, records: list[Record], max_bytes: int) -> None:
        sizes = list(map(record_bytes, records))
        self.records += records
        self.sizes += sizes
        self.bytes += sum(sizes)
        self.next = records[-1].offset + 1 if records else self.next
        self._drop(max_bytes)

    def trimmed(self, first: int) -> None:
        self.first = max(first, self.first)
        self._drop(self.bytes)

    def holds(self, start: int) -> bool:
        return bool(self.records) and self.records[-1].offset >= start

    def slice(self, start: int, max_records: int, max_bytes: int) -> list[Record]:
        begin = bisect_left(self.records, start, key=_offset_of)
        totals = accumulate(self.sizes[begin : begin + max_records])
        within = sum(1 for _ in takewhile(max_bytes.__ge__, totals))
        return self.records[begin : begin + max(within, 1)]

    def _drop(self, max_bytes: int) -> None:
        count = 0
        while count < len(self.records) and (
            self.bytes > max_bytes or self.records[count].offset < self.first
        ):
            self.bytes -= self.sizes[count]
            self.low = self.records[count].offset + 1
            count += 1
        self.low = max(self.low, self.first)
        del self.records[:count], self.sizes[:count]


class SharedTail:
    """A log that reads each new record of a topic once, however many follow it, and waits once.

    Reads near the end are answered from memory; older ones go to the log below. A trim through this object
    is seen at once; after one by another process, recent records may be served until they leave the memory.

    Args:
        log: the log below, which this object then owns.
        max_bytes: what the recent records of one topic may take.
    """

    def __init__(self, log: Log, max_bytes: int = TAIL_BYTES_MAX) -> None:
        self._log, self._max_bytes = log, max_bytes
        self._tails: defaultdict[str, _Tail] = defaultdict(_Tail)
        self._closed = False

    @property
    def capabilities(self) -> Capability:
        """Those of the log below."""
        return self._log.capabilities

    async def ensure(self, topic: str) -> None:
        """See ``Log``."""
        await self._log.ensure(topic)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        return await self._log.append(topic, records)

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        tail = self._tails[topic]
        if start >= tail.next:
            await self._advance(topic, tail, start)
        if tail.low <= start <= tail.next:
            return tail.slice(start, max_records, max_bytes)
        return await self._log.read(topic, start, max_records, max_bytes)

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        tail = self._tails[topic]
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        try:
            if start > tail.next:
                await self._advance(topic, tail, start)
        except OffsetOutOfRange:
            return await self._log.wait(topic, start, timeout_s)
        while tail.low <= start and not tail.holds(start):
            if self._closed:
                return False
            if (left_s := deadline - loop.time()) <= 0:
                return False
            if tail.followed:
                await asyncio.wait({tail.moved.next_ring()}, timeout=left_s)
            elif not await self._follow(topic, tail, left_s):
                return False
        return tail.low <= start or await self._log.wait(topic, start, deadline - loop.time())

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        return await self._log.bounds(topic)

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``."""
        first = await self._log.trim(topic, retention)
        self._tails[topic].trimmed(first)
        return first

    async def identity(self, topic: str) -> str:
        """See ``Log``; when it changes, what was held of the former topic is forgotten."""
        identity = await self._log.identity(topic)
        tail = self._tails[topic]
        if tail.identity not in ("", identity):
            del self._tails[topic]
        self._tails[topic].identity = identity
        return identity

    async def close(self) -> None:
        """See ``Log``; closes the log below."""
        self._closed = True
        await self._log.close()

    async def _advance(self, topic: str, tail: _Tail, start: int) -> None:
        """Read what comes next, once for all who want it; the most advanced reader says where the tail is."""
        async with tail.lock:
            if start < tail.next:
                return
            records = await self._log.read(topic, start)
            if start > tail.next:
                tail.move_to(start)
            tail.extend(records, self._max_bytes)
        if records:
            tail.moved.ring()

    async def _follow(self, topic: str, tail: _Tail, timeout_s: float) -> bool:
        """Wait on behalf of everyone; whoever is rung without news takes over."""
        tail.followed = True
        try:
            came = await self._log.wait(topic, tail.next, timeout_s)
            if came:
                await self._advance(topic, tail, tail.next)
            return came
        except OffsetOutOfRange as error:  # trimmed under the tail: those who wait here fall back on the log
            tail.move_to(error.end)
            return True
        finally:
            tail.followed = False
            tail.moved.ring()
