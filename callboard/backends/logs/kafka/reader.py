"""Reads a topic from any offset, for any number of readers, without a position at the broker."""

import asyncio
from collections import defaultdict
from typing import NamedTuple

from aiokafka.protocol.offset import OffsetRequest

from callboard.backends.log import Bounds
from callboard.backends.logs.kafka.chunk import Aborted, Chunk
from callboard.backends.logs.kafka.client.cluster import Attempts, Cluster, Topic
from callboard.backends.logs.kafka.client.failure import OUT_OF_RANGE, refused
from callboard.backends.logs.kafka.client.protocol import FetchRequest
from callboard.errors import LogUnavailable, OffsetOutOfRange
from callboard.messages.record import Record

FETCH_BYTES = 1 << 20
"""The size of one fetch; a single larger batch is returned nevertheless."""

AHEAD_CHUNKS = 8
"""How many readers may each keep the rest of a chunk for their next read."""

AHEAD_S = 1.0
"""How long such a rest is kept: later, another process might have trimmed it."""

LATEST = -1
"""Asks for the end instead of the first offset since a time."""

COMMITTED = 1
"""The isolation level: no record of an unfinished transaction."""


class Fetched(NamedTuple):
    """The answer to one fetch: the chunk, and the retained range according to the leader."""

    chunk: Chunk
    first: int
    end: int


class Reader:
    """The reads of all topics.

    It remembers the highest end reported: a newly elected leader may briefly know a lower one, which must look like
    neither the end of the log nor an offset out of range.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ends: defaultdict[bytes, int] = defaultdict(int)
        self._ahead: dict[tuple[bytes, int], tuple[float, Chunk]] = {}

    async def read(self, name: str, start: int, max_records: int, max_bytes: int) -> list[Record]:
        """See ``Log.read``; returns at most the records of one fetch."""
        topic = await self._cluster.find(name)
        if records := self._read_ahead(topic, start, max_records, max_bytes):
            return records
        attempts, position = Attempts(self._cluster.timeout_ms), start
        while True:
            chunk, _, end = await self.fetch(topic, position, FETCH_BYTES)
            self.keep(topic, position, chunk)
            if records := self._read_ahead(topic, position, max_records, max_bytes):
                return records
            if chunk.next > position:
                position = chunk.next  # a gap
            elif position == end >= self._ends[topic.id]:
                return []
            else:
                _, end = await self._confirmed(topic, start)
                if position >= end:
                    return []
                await attempts.pause(LogUnavailable(f"Kafka's leader of topic {name!r} lags behind what it had"))

    async def holds(self, name: str, start: int) -> bool:
        """Whether a record with an offset of at least ``start`` can be read."""
        topic = await self._cluster.find(name)
        while True:
            try:
                chunk = (await self.fetch(topic, start, max_bytes=1)).chunk
            except OffsetOutOfRange as error:
                if start >= error.first:
                    return False
                start = error.first
                continue
            if chunk.take(1, 1):
                return True
            if chunk.next == start:
                return False
            start = chunk.next

    async def fetch(
        self, topic: Topic, start: int, max_bytes: int, max_wait_ms: int = 0, purpose: str = "read"
    ) -> Fetched:
        """One fetch. Raises ``OffsetOutOfRange``, and ``LogReplaced`` if the topic was re-created."""
        request = FetchRequest(topic.id, start, max_bytes, max_wait_ms)
        _, error, _, end, first, aborted, _, data, _ = await self._cluster.ask(topic, request, purpose)
        if error == OUT_OF_RANGE:
            return Fetched(Chunk(b"", (), start), *await self._confirmed(topic, start))
        if error:
            raise refused(error, topic.name)
        self._ends[topic.id] = max(end, self._ends[topic.id])
        rolled_back = [Aborted(producer, offset) for producer, offset, _ in aborted or ()]
        return Fetched(Chunk(data or b"", rolled_back, start), first, end)

    async def bounds(self, topic: Topic) -> Bounds:
        """See ``Log.bounds``: the leader's answer once it knows the end, for exactly this incarnation of the topic."""
        attempts = Attempts(self._cluster.timeout_ms)
        while True:
            latest = OffsetRequest(-1, COMMITTED, [(topic.name, [(0, LATEST)])])
            _, error, _, end, *_ = await self._cluster.ask(topic, latest, "any")
            if error:
                raise refused(error, topic.name)
            here = FetchRequest(topic.id, end, max_bytes=1, max_wait_ms=0)
            _, error, _, _, first, *_ = await self._cluster.ask(topic, here, "any")
            if not error:
                self._ends[topic.id] = end
                return Bounds(first, end)
            if error != OUT_OF_RANGE:
                raise refused(error, topic.name)
            await attempts.pause(LogUnavailable(f"topic {topic.name!r} was trimmed while its end was asked for"))

    async def first_since(self, topic: Topic, time_ms: int) -> int:
        """The offset of the first record that is not older than ``time_ms``; -1 if all are."""
        since = OffsetRequest(-1, COMMITTED, [(topic.name, [(0, time_ms)])])
        _, error, _, offset, *_ = await self._cluster.ask(topic, since, "any")
        if error:
            raise refused(error, topic.name)
        return int(offset)

    def keep(self, topic: Topic, start: int, chunk: Chunk) -> None:
        """Keep the rest of a chunk for the read that continues at ``start``."""
        self._ahead[topic.id, start] = (asyncio.get_running_loop().time() + AHEAD_S, chunk)
        while len(self._ahead) > AHEAD_CHUNKS:
            del self._ahead[next(iter(self._ahead))]

    def drop_ahead(self) -> None:
        """Forget the rests, after a trim."""
        self._ahead.clear()

    def _read_ahead(self, topic: Topic, start: int, max_records: int, max_bytes: int) -> list[Record]:
        until, chunk = self._ahead.pop((topic.id, start), (0.0, None))
        if chunk is None or until < asyncio.get_running_loop().time():
            return []
        records = chunk.take(max_records, max_bytes)
        if records and not chunk.empty:
            self.keep(topic, records[-1].offset + 1, chunk)
        return records

    async def _confirmed(self, topic: Topic, start: int) -> Bounds:
        """The bounds. Raises ``OffsetOutOfRange`` if ``start`` is outside."""
        bounds = await self.bounds(topic)
        if not bounds.first <= start <= bounds.end:
            raise OffsetOutOfRange(topic.name, start, *bounds)
        return bounds
