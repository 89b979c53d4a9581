"""Appends in groups: one request per topic at a time, with everything that arrived during the one before."""

import sys
from collections.abc import Callable

from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import InitProducerIdRequest

from callboard.backends.logs.group_writer import GroupWriter
from callboard.backends.logs.kafka.chunk import NS_PER_MS
from callboard.backends.logs.kafka.client.batch import BATCH_OVERHEAD, Entry, Producer, append_too_large, encode
from callboard.backends.logs.kafka.client.cluster import Cluster
from callboard.backends.logs.kafka.client.failure import MESSAGE_TOO_LARGE, UNKNOWN_OUTCOME, refused
from callboard.errors import LogUnavailable

GROUP_BYTES = 1 << 20
"""A request takes in no further append beyond this size."""

ALL_IN_SYNC = -1


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
        self._groups = GroupWriter(self._commit, GROUP_BYTES, sys.maxsize)
        self._producer: Producer | None = None

    async def append(self, entries: list[Entry], size: int) -> list[int]:
        """The offsets once every in-sync replica has the entries; ``size`` is from ``to_entries``."""
        if size + BATCH_OVERHEAD > self._limit:
            raise append_too_large(self._name, size, self._limit)
        return await self._groups.submit(entries, size)

    async def close(self) -> None:
        """Complete pending appends."""
        await self._groups.close()

    async def _commit(self, entries: list[Entry]) -> list[int]:
        try:
            offset = await self._send(entries)
        except BaseException:
            self._producer = None
            raise
        return list(range(offset, offset + len(entries)))

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
