"""The log over Kafka, on a real broker or on a mock of one."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from callboard.backends.log import Log
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.testing.conformance.candidates.memory_log import Around, Clock, Restart, itself
from callboard.testing.conformance.log import LogHarness
from callboard.testing.servers.kafka import MockKafkaLog

AGO_NS = 200 * 10**9
"""Brokers refuse records from the future, so these clocks start in the past."""


def _clock() -> Clock:
    return Clock(time.time_ns() // 10**6 * 10**6 - AGO_NS)  # in whole milliseconds, as Kafka keeps them


@contextmanager
def kafka_log(servers: str, restart: Restart = None, around: Around = itself) -> Iterator[LogHarness]:
    """A harness for a private topic on the broker at ``servers``."""
    clock = _clock()
    url = f"kafka://{servers}"

    async def make() -> Log:
        return around(KafkaLog(parse_address(url), clock))

    async def gap(log: Log, topic: str, count: int) -> None:
        end = (await log.bounds(topic)).end
        await _abort(servers, topic, count)
        while (await log.bounds(topic)).end <= end + count:
            pass  # the broker answers before it writes the marker

    async def replace(_: Log, topic: str) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        try:
            await admin.delete_topics([topic])
        finally:
            await admin.close()

    yield LogHarness(
        open=make, gap=gap, pass_time=clock.pass_time, topic=_unused(), url=url, restart=restart, replace=replace
    )


@contextmanager
def kafka_mock_log(servers: str) -> Iterator[LogHarness]:
    """A harness for the mock. It shows records that were rolled back, so it has no gaps; and it does not have the
    settings that another process, which did not create the topic, would ask for.
    """
    clock = _clock()

    async def make() -> Log:
        return MockKafkaLog(parse_address(f"kafka://{servers}"), clock)

    yield LogHarness(open=make, pass_time=clock.pass_time, topic=_unused())


async def _abort(servers: str, topic: str, count: int) -> None:
    """Write records in a transaction and roll it back: their offsets, and the marker's, are lost."""
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=_unused()) as producer:
        await producer.begin_transaction()
        for _ in range(count):
            await producer.send_and_wait(topic, b"never", partition=0)
        await producer.abort_transaction()


def _unused() -> str:
    return f"checked-{uuid.uuid4().hex[:12]}"
