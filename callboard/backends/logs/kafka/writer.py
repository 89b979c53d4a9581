"""Appends in groups: one request per topic at a time, with everything that arrived during the one before."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import InitProducerIdRequest

from callboard.backends.logs.kafka.chunk import NS_PER_MS
from callboard.backends.logs.kafka.client.batch import BATCH_OVERHEAD, Entry, Producer, append_too_large, encode
from callboard.backends.logs.kafka.client.cluster import Cluster
from callboard.backends.logs.kafka.client.failure import MESSAGE_TOO_LARGE, UNKNOWN_OUTCOME, refused
from callboard.errors import LogUnavailable

GROUP_BYTES = 1 << 20
"""A request takes in no further append beyond this size."""

ALL_IN_SYNC = -1


@dataclass(frozen=True, slots=True)
class _Work:
    entries: list[Entry]
    size: int
    future: asyncio.Future[list[int]]


class Writer:
    """The appends of one topic.

    An append is never split between batches, and Kafka writes a batch as a whole, so an append is all or none. A
    request whose answer is lost is repeated with the same sequence number, which brokers write only once. After a
    request is given up, its outcome is unknown, and a new producer id begins.

    Args:
        name: the topic's.
        cluster: where it is.
        limit: the size of its largest batch, in bytes.
        clock: nanoseconds since the epoch, for the records' times.
    """

    def __init__(self, name: str, cluster: Cluster, limit: int, clock: Callable[[], int]) -> None:
        self._name, self._cluster, self._limit, self._clock = name, cluster, limit, clock
        self._queue: deque[_Work] = deque()
        self._task: asyncio.Task[None] | None = None
        self._producer: Producer | None = None

    async def append(self, entries: list[Entry], size: int) -> list[int]:
        """The offsets once every in-sync replica has the entries; ``size`` is from ``to_entries``."""
        if size + BATCH_OVERHEAD > self._limit:
            raise append_too_large(self._name, size, self._limit)
        work = _Work(entries, size, asyncio.get_running_loop().create_future())
        self._queue.append(work)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name=f"kafka writer {self._name}")
        return await work.future

    async def close(self) -> None:
        """Complete pending appends."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while self._queue:
            group = self._group()
            if not group:
                continue
            try:
                offset = await self._send([entry for work in group for entry in work.entries])
            except Exception as error:  # noqa: BLE001 - passed on to the waiters, whatever it is
                self._producer = None
                for work in group:
                    if not work.future.done():
                        work.future.set_exception(error)
            else:
                for work in group:
                    if not work.future.done():
                        work.future.set_result(list(range(offset, offset + len(work.entries))))
                    offset += len(work.entries)

    def _group(self) -> list[_Work]:
        """The appends to send together, in order, except cancelled ones."""
        group, size = list[_Work](), 0
        while self._queue and (not group or size + self._queue[0].size < GROUP_BYTES):
            work = self._queue.popleft()
            if not work.future.cancelled():
                group.append(work)
                size += work.size
        return group

    async def _send(self, entries: list[Entry]) -> int:
        """Append one batch; the offset of its first record."""
        topic = await self._cluster.find(self._name)
        if self._producer is None:
            self._producer = await self._new_producer()
        batch = encode(entries, self._clock() // NS_PER_MS, self._producer)
        request = ProduceRequest(None, ALL_IN_SYNC, self._cluster.timeout_ms, [(self._name, [(0, batch)])])
        try:
            _, error, offset, *_ = await self._cluster.ask(topic, request, f"write {self._name}")
        except LogUnavailable as failure:
            raise LogUnavailable(f"{failure}. {UNKNOWN_OUTCOME}") from failure
        if error == MESSAGE_TOO_LARGE:
            raise append_too_large(self._name, len(batch), len(batch) - 1)
        if error or offset < 0:  # the broker may know that a repeated batch was written, but not its offset
            raise refused(error, self._name, UNKNOWN_OUTCOME)
        id_, epoch, sequence = self._producer
        self._producer = Producer(id_, epoch, (sequence + len(entries)) % (1 << 31))
        return int(offset)

    async def _new_producer(self) -> Producer:
        found = await self._cluster.ask_any(InitProducerIdRequest(None, -1), lambda answer: answer.error_code)
        if found.error_code:
            raise refused(found.error_code, self._name)
        return Producer(found.producer_id, found.producer_epoch, 0)
