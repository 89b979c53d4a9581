"""The log of one process and event loop: for tests, the simulator, and boards that need not persist."""

import time
import uuid
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import attrgetter

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Retention
from callboard.backends.logs.limits import check_sizes, check_topic_name, closed, missing, record_bytes
from callboard.backends.logs.restorable import Key, Returned, are_behind
from callboard.backends.logs.wake_up import WakeUp
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import NewRecord, Record

_offset_of = attrgetter("offset")


class _Topic:
    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.records: list[Record] = []
        self.end = 1  # as in SQLite: code that assumes a first offset of 0 fails early
        self.keys: dict[str, int] = {}
        self.key_of: dict[int, str] = {}
        self.appended = WakeUp()

    @property
    def first(self) -> int:
        return self.records[0].offset if self.records else self.end

    def holds(self, start: int) -> bool:
        return bool(self.records) and self.records[-1].offset >= start

    def append(self, new: NewRecord, time_ns: int) -> int:
        if new.key and new.key in self.keys:
            return self.keys[new.key]
        offset, self.end = self.end, self.end + 1
        self.records.append(new.at(offset, time_ns))
        if new.key:
            self.keys[new.key] = offset
            self.key_of[offset] = new.key
        return offset

    def put_back(self, record: Record, key: Key | None) -> None:
        self.records.append(record)
        self.end = record.offset + 1
        if isinstance(key, str):
            self.keys[key] = record.offset
            self.key_of[record.offset] = key

    def drop(self, count: int) -> None:
        for record in self.records[:count]:
            if key := self.key_of.pop(record.offset, ""):
                del self.keys[key]
        del self.records[:count]


class MemoryLog:
    """A log in memory; also the reference that the others are compared with.

    Args:
        clock: nanoseconds since the epoch, for the records' times and retention by age.
        new_identity: returns an identity for a new topic.
    """

    def __init__(
        self, clock: Callable[[], int] = time.time_ns, new_identity: Callable[[], object] = uuid.uuid4
    ) -> None:
        self._clock, self._new_identity = clock, new_identity
        self._topics: dict[str, _Topic] = {}
        self._closed = False

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return Capability.KEYS | Capability.TRIM | Capability.TRIM_BYTES

    async def ensure(self, topic: str) -> None:
        """See ``Log``; raises ``ConfigError`` for an invalid name."""
        if self._closed:
            raise closed()
        check_topic_name(topic)
        if topic not in self._topics:
            self._topics[topic] = _Topic(str(self._new_identity()))

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        held = self._topic(topic)
        check_sizes(topic, records)
        now_ns = self._clock()
        offsets = [held.append(record, now_ns) for record in records]
        held.appended.ring()
        return offsets

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        held = self._topic(topic)
        if not held.first <= start <= held.end:
            raise OffsetOutOfRange(topic, start, held.first, held.end)
        begin = bisect_left(held.records, start, key=_offset_of)
        found = held.records[begin : begin + max_records]
        within = sum(total <= max_bytes for total in accumulate(map(record_bytes, found)))
        return found[: max(within, 1)]

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        held = self._topic(topic)
        await held.appended.until(lambda: self._closed or held.holds(start), timeout_s)
        return not self._closed and held.holds(start)

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        held = self._topic(topic)
        return Bounds(held.first, held.end)

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``."""
        held = self._topic(topic)
        retention.check(topic, held.identity)
        held.drop(_removable(held.records, retention, self._clock()))
        return held.first

    async def identity(self, topic: str) -> str:
        """See ``Log``."""
        return self._topic(topic).identity

    async def keys(self, topic: str, start: int, stop: int) -> dict[int, Key]:
        """See ``Restorable``."""
        return {offset: key for offset, key in self._topic(topic).key_of.items() if start <= offset < stop}

    async def put_back(self, topic: str, records: Sequence[Returned]) -> bool:
        """See ``Restorable``."""
        held = self._topic(topic)
        if not are_behind(records, held.end):
            return False
        for record, key in records:
            held.put_back(record, key)
        held.appended.ring()
        return True

    async def complete(self, topic: str, identity: str, first: int, end: int) -> None:  # noqa: ARG002 - it has a record
        """See ``Restorable``."""
        held = self._topic(topic)
        held.identity, held.end = identity or held.identity, max(held.end, end)

    async def close(self) -> None:
        """See ``Log``; the records are lost."""
        self._closed = True
        for held in self._topics.values():
            held.appended.ring()
        self._topics.clear()

    def _topic(self, topic: str) -> _Topic:
        if self._closed:
            raise closed()
        if topic not in self._topics:
            raise missing(topic)
        return self._topics[topic]


def _removable(records: list[Record], retention: Retention, now_ns: int) -> int:
    """How many of the oldest records may be removed; the first one that must stay protects those after it."""
    going = 0
    excess = 0 if retention.above_bytes is None else sum(map(record_bytes, records)) - retention.above_bytes
    for count, record in enumerate(records):
        if retention.keep_from is not None and record.offset >= retention.keep_from:
            break
        below = retention.below_offset is not None and record.offset < retention.below_offset
        old = retention.too_old(record.time_ns, now_ns)
        if below or old or excess > 0:
            going = count + 1
        elif old is not None:
            break
        excess -= record_bytes(record)
    return going
