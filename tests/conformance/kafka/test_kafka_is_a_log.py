"""The Kafka log passes the suite: on a real broker all of it, on the mock what the mock can do."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import AIOKafkaProducer

from callboard.backends.log import Log
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.tail import SharedTail
from callboard.testing.conformance.log import ALL_CHECKS, Check, LogHarness
from callboard.testing.kafka import mock_kafka_log

AGO_NS = 200 * 10**9
"""Brokers refuse records from the future, so the clocks of these tests begin in the past."""


def unused() -> str:
    return f"checked-{uuid.uuid4().hex[:12]}"


Gap = Callable[[Log, str, int], Awaitable[None]] | None


def run(check: Check, make: Callable[[Callable[[], int]], Log], gap: Gap) -> None:
    now = [time.time_ns() - AGO_NS]

    async def opened() -> Log:
        return make(lambda: now[0])

    def pass_time(seconds: float) -> None:
        now[0] += int(seconds * 10**9)

    asyncio.run(check(LogHarness(open=opened, gap=gap, pass_time=pass_time, topic=unused())))


@pytest.mark.kafka
@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("tailed", [False, True], ids=["log", "tail"])
def test_a_kafka_log_does_what_a_log_does(tailed: bool, check: Check, kafka: str) -> None:
    address = parse_address(f"kafka://{kafka}")

    def make(clock: Callable[[], int]) -> Log:
        return SharedTail(KafkaLog(address, clock)) if tailed else KafkaLog(address, clock)

    async def skip_offsets(log: Log, topic: str, count: int) -> None:
        end = (await log.bounds(topic)).end
        await abort(kafka, topic, count)
        while (await log.bounds(topic)).end <= end + count:
            pass  # the broker writes the marker when it has already answered

    run(check, make, skip_offsets)


async def abort(servers: str, topic: str, count: int) -> None:
    """Write records in a transaction and roll it back: their offsets are gone, and the marker's."""
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=unused()) as producer:
        await producer.begin_transaction()
        for _ in range(count):
            await producer.send_and_wait(topic, b"never", partition=0)
        await producer.abort_transaction()


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_the_mock_of_kafka_does_what_it_can(check: Check, kafka_mock: str) -> None:
    """It does not declare to trim, and has no gaps to look at: it shows what was rolled back."""
    run(check, lambda clock: mock_kafka_log(kafka_mock, clock), gap=None)
