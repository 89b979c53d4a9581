"""The log over Kafka: its public interface."""

import asyncio
import time
from collections.abc import Callable, Sequence

from callboard.backends.examination import Clock, Examination
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Retention
from callboard.backends.logs.kafka import examination, topics
from callboard.backends.logs.kafka import retention as retained
from callboard.backends.logs.kafka.address import Address
from callboard.backends.logs.kafka.client.batch import to_entries
from callboard.backends.logs.kafka.client.cluster import Cluster
from callboard.backends.logs.kafka.reader import Reader
from callboard.backends.logs.kafka.tail import Tail
from callboard.backends.logs.kafka.writer import Writer
from callboard.backends.logs.limits import check_topic_name
from callboard.backends.logs.process_log import ProcessLog
from callboard.messages.record import NewRecord, Record


class KafkaLog(ProcessLog):
    """A log in a Kafka cluster, version 3.1 or newer. Use it from one event loop.

    Nothing is opened before the first call. It uses aiokafka's connections, protocol and record batches, but not its
    consumer and producer: these can neither tell "nothing there" from "not yet", nor give up.

    Args:
        address: from ``parse_address``.
        clock: nanoseconds since the epoch, for the records' times and retention by age.
    """

    def __init__(self, address: Address, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__()
        self._address, self._clock = address, clock
        self._cluster = Cluster(address)
        self._reader = Reader(self._cluster)
        self._tails: dict[str, Tail] = {}
        self._writers: dict[str, Writer] = {}

    @property
    def capabilities(self) -> Capability:
        """See ``Log``. Keys are written but not used: Kafka cannot find a record by its key."""
        return Capability.DURABLE | Capability.SHARED | Capability.TRIM

    async def ensure(self, topic: str) -> None:
        """See ``Log``. Raises ``ConfigError`` for an invalid name, or settings that lose order or records."""
        self._check_open()
        check_topic_name(topic)
        self._write_to(topic, await topics.ensure(self._cluster, topic, self._address))

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``. The records of one append must fit into the topic's ``max.message.bytes``."""
        self._check_open()
        entries, size = to_entries(topic, records)
        await self._cluster.find(topic)
        if not entries:
            return []
        if topic not in self._writers:
            self._write_to(topic, topics.batch_bytes(await topics.settings(self._cluster, topic)))
        return await self._writers[topic].append(entries, size)

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``."""
        self._check_open()
        return await self._reader.read(topic, start, max_records, max_bytes)

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        self._check_open()
        await self._cluster.find(topic)
        if topic not in self._tails:
            self._tails[topic] = Tail(topic, self._cluster, self._reader)
        return await self._tails[topic].wait(start, timeout_s)

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        self._check_open()
        return await self._reader.bounds(await self._cluster.find(topic))

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``. Raises ``NotSupported`` for ``above_bytes``: set the brokers' ``retention.bytes`` instead."""
        self._check_open()
        return await retained.trim(self._cluster, self._reader, topic, retention, self._clock())

    async def identity(self, topic: str) -> str:
        """See ``Log``: made of Kafka's ids of the cluster and the topic."""
        self._check_open()
        return await self._cluster.identity(topic)

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:  # noqa: ARG002 - Kafka reports no time
        """See ``ExaminableLog``."""
        self._check_open()
        return await examination.examine(self._cluster, self._address, topics)

    async def close(self) -> None:
        """See ``Log``."""
        if not self._ends():
            return
        await asyncio.gather(*(tail.close() for tail in self._tails.values()))
        await asyncio.gather(*(writer.close() for writer in self._writers.values()))
        await self._cluster.close()

    def _write_to(self, topic: str, batch_bytes: int) -> None:
        if topic not in self._writers:
            self._writers[topic] = Writer(topic, self._cluster, batch_bytes, self._clock)
