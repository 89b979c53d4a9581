"""Topics that other programs create, change or remove, and their transactions."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.structs import TopicPartition

from callboard.backends.log import Bounds, Retention
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.client import cluster
from callboard.backends.logs.kafka.client.connections import Connections
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.logs.kafka.topics import BATCH_BYTES
from callboard.errors import (
    ConfigError,
    LogReplaced,
    LogUnavailable,
    NotSupported,
    OffsetOutOfRange,
    RecordTooLarge,
    TopicMissing,
)
from callboard.messages.record import NewRecord

pytestmark = pytest.mark.kafka

SOON_S = 60.0


def new(text: str) -> NewRecord:
    return NewRecord(payload=text.encode())


def run(servers: str, test: Callable[[KafkaLog, str], Awaitable[None]], options: str = "") -> None:
    """Run the test with a log and the name of a topic that does not exist."""

    async def in_time() -> None:
        log = KafkaLog(parse_address(f"kafka://{servers}/?{options}"))
        try:
            await asyncio.wait_for(test(log, f"topic-{uuid.uuid4().hex[:12]}"), SOON_S)
        finally:
            await log.close()

    asyncio.run(in_time())


async def administer(servers: str, *steps: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        for step in steps:
            await step(admin)
    finally:
        await admin.close()


@pytest.mark.parametrize(
    ("partitions", "configs", "advice"),
    [
        (2, {}, "has 2 partitions"),
        (1, {"max.message.bytes": "1048588"}, "max.message.bytes=1048588.*add-config max.message.bytes="),
        (1, {"cleanup.policy": "compact"}, "cleanup.policy=compact.*add-config cleanup.policy=delete"),
    ],
)
def test_a_topic_that_would_lose_order_or_records_is_refused(
    kafka: str, partitions: int, configs: dict[str, str], advice: str
) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        made = NewTopic(topic, partitions, 1, topic_configs={"max.message.bytes": str(BATCH_BYTES)} | configs)
        await administer(kafka, lambda admin: admin.create_topics([made]))
        with pytest.raises(ConfigError, match=advice):
            await log.ensure(topic)

    run(kafka, test)


def test_an_impossible_replication_factor_is_named(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        with pytest.raises(LogUnavailable, match="replication_factor="):
            await log.ensure(topic)

    run(kafka, test, "replication_factor=7&request_timeout_ms=2000")


def test_a_new_topic_keeps_its_records_forever_by_default(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        found = await log._cluster.ask_any(*_describe(topic))
        assert {entry[0]: entry[1] for entry in found.resources[0][4]} == {
            "cleanup.policy": "delete", "max.message.bytes": str(BATCH_BYTES), "retention.ms": "-1",
            "retention.bytes": "1000000",
        }  # fmt: skip

    run(kafka, test, "retention_bytes=1000000")


def _describe(topic: str) -> tuple[Any, Callable[[Any], int]]:
    from aiokafka.protocol.admin import DescribeConfigsRequest

    names = ["cleanup.policy", "max.message.bytes", "retention.ms", "retention.bytes"]
    return DescribeConfigsRequest([(2, topic, names)]), lambda answer: int(answer.resources[0][0])


def test_a_recreated_topic_has_another_identity(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        identity = await log.identity(topic)
        await log.append(topic, [new("0"), new("1")])
        waiting = asyncio.create_task(log.wait(topic, 2, SOON_S))
        await administer(kafka, lambda admin: admin.delete_topics([topic]))
        other = KafkaLog(parse_address(f"kafka://{kafka}"))
        await other.ensure(topic)
        await other.append(topic, [new("other 0"), new("other 1"), new("other 2")])
        with pytest.raises(LogReplaced):
            await waiting
        assert await log.identity(topic) == await other.identity(topic) != identity
        assert len(await log.read(topic, 0)) == 3
        await other.close()

    run(kafka, test)


def test_a_reader_that_was_disconnected_notices_that_its_topic_was_replaced(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        await log.append(topic, [new("0"), new("1")])
        assert len(await log.read(topic, 0)) == 2
        other = KafkaLog(parse_address(f"kafka://{kafka}"))
        await administer(kafka, lambda admin: admin.delete_topics([topic]))
        await other.ensure(topic)
        await other.append(topic, [new("other 0"), new("other 1")])
        with pytest.raises(LogReplaced, match="deleted and created again"):
            await log.read(topic, 1)
        await other.close()

    run(kafka, test)


def test_an_identity_is_soon_read_again(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "IDENTITY_S", 0.0)

    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        identity = await log.identity(topic)
        await administer(kafka, lambda admin: admin.delete_topics([topic]))
        other = KafkaLog(parse_address(f"kafka://{kafka}"))
        await other.ensure(topic)
        assert await log.identity(topic) == await other.identity(topic) != identity
        await other.close()

    run(kafka, test)


def test_a_deleted_topic_is_missing(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        await administer(kafka, lambda admin: admin.delete_topics([topic]))
        with pytest.raises(TopicMissing):
            await log.append(topic, [new("0")])

    run(kafka, test, "request_timeout_ms=2000")


def test_records_deleted_under_a_reader_are_out_of_range_and_not_skipped(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        await log.append(topic, [new(str(number)) for number in range(100)])
        assert len(await log.read(topic, 0, max_records=10)) == 10
        waiting = asyncio.create_task(log.wait(topic, 100, SOON_S))
        below = {TopicPartition(topic, 0): RecordsToDelete(before_offset=100)}
        await administer(kafka, lambda admin: admin.delete_records(below))
        with pytest.raises(OffsetOutOfRange) as caught:
            await log.read(topic, 50)
        assert (caught.value.offset, caught.value.first, caught.value.end) == (50, 100, 100)
        await log.append(topic, [new("100")])
        assert await waiting
        assert [record.payload for record in await log.read(topic, 100)] == [b"100"]

    run(kafka, test)


def test_records_of_an_open_transaction_and_after_it_are_not_read(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        async with AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=topic) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"0", partition=0)
            assert await log.append(topic, [new("1")]) == [1]
            assert await log.bounds(topic) == Bounds(0, 0)
            assert await log.read(topic, 0) == []
            assert not await log.wait(topic, 0, 0.1)
            with pytest.raises(OffsetOutOfRange):
                await log.read(topic, 1)
            waiting = asyncio.create_task(log.wait(topic, 0, SOON_S))
            await producer.commit_transaction()
        assert await waiting
        assert [record.payload for record in await log.read(topic, 0)] == [b"0", b"1"]

    run(kafka, test)


def test_an_append_that_does_not_fit_into_a_batch_is_refused(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        with pytest.raises(RecordTooLarge, match="append fewer records at a time"):
            await log.append(topic, [NewRecord(payload=bytes(1 << 20))] * 8)
        assert len(await log.append(topic, [NewRecord(payload=bytes(1 << 20))] * 7)) == 7

    run(kafka, test)


def test_a_refused_trim_by_bytes_names_the_setting_to_use(kafka: str) -> None:
    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        with pytest.raises(NotSupported, match=r"retention\.bytes"):
            await log.trim(topic, Retention(above_bytes=1000))

    run(kafka, test)


def test_a_batch_whose_answer_is_lost_is_written_once(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = list[str]()
    ask = Connections.ask

    async def ask_and_lose(self: Connections, node: int, purpose: str, request: Any) -> Any:
        answer = await ask(self, node, purpose, request)
        if purpose.startswith("write") and len(lost) % 2 == 0:
            lost.append(purpose)
            raise LogUnavailable("the answer got lost")
        lost.append("")
        return answer

    async def test(log: KafkaLog, topic: str) -> None:
        await log.ensure(topic)
        monkeypatch.setattr(Connections, "ask", ask_and_lose)
        offsets = [await log.append(topic, [new(str(number)), new(str(number))]) for number in range(5)]
        monkeypatch.undo()
        assert lost.count(f"write {topic}") >= 5
        assert offsets == [[2 * number, 2 * number + 1] for number in range(5)]
        assert [int(record.payload) for record in await log.read(topic, 0)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]

    run(kafka, test)
