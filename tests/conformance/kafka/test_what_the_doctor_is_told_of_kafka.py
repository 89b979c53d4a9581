"""What a Kafka log reports to the doctor, without creating anything."""

import asyncio
import time
import uuid

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from callboard.backends.examination import ExaminableLog, Examination, Finding, Level
from callboard.backends.log import Retention
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.examination import _permissions
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.logs.kafka.topics import BATCH_BYTES
from callboard.errors import LogUnavailable, TopicMissing
from callboard.testing.servers.kafka import LocalKafka

pytestmark = pytest.mark.kafka


def name() -> str:
    return f"topic-{uuid.uuid4().hex[:12]}"


async def told(servers: str, topic: str, *, ensure: bool = False, options: str = "") -> Examination:
    log = KafkaLog(parse_address(f"kafka://{servers}/?{options}"))
    try:
        assert isinstance(log, ExaminableLog)
        if ensure:
            await log.ensure(topic)
        return await log.examine([topic], time.time_ns)
    finally:
        await log.close()


async def create(servers: str, topic: str, partitions: int = 1, **settings: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    configs = {"max.message.bytes": str(BATCH_BYTES)} | {key.replace("_", "."): text for key, text in settings.items()}
    await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
    await admin.close()


def problems(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.what, finding.fix) for finding in found if finding.level is Level.PROBLEM]


def test_a_healthy_topic_reports_its_settings(kafka: str) -> None:
    found = asyncio.run(told(kafka, name(), ensure=True))
    assert {finding.level for finding in found.findings} == {Level.OK}
    assert any("1 brokers" in finding.what for finding in found.findings)
    assert any("1 partition" in finding.what and "retention.ms=-1" in finding.what for finding in found.findings)
    assert list(found.kept.values()) == [Retention()]


def test_retention_by_the_broker_is_reported(kafka: str) -> None:
    topic = name()
    found = asyncio.run(told(kafka, topic, ensure=True, options="retention_ms=60000&retention_bytes=1000000"))
    assert found.kept == {topic: Retention(older_than_s=60.0, above_bytes=1_000_000)}


def test_a_missing_topic_is_reported_as_creatable_and_not_created(kafka: str) -> None:
    async def scenario() -> None:
        topic = name()
        found = await told(kafka, topic)
        assert any("may create it" in finding.what for finding in found.findings)
        found = await told(kafka, topic, options="replication_factor=7")
        assert any("replication_factor=" in fix for _, fix in problems(found.findings))
        log = KafkaLog(parse_address(f"kafka://{kafka}"))
        with pytest.raises(TopicMissing):
            await log.bounds(topic)
        await log.close()

    asyncio.run(scenario())


def test_settings_that_lose_order_or_records_are_problems(kafka: str) -> None:
    for partitions, settings, said in (
        (2, {}, "has 2 partitions"),
        (1, {"max_message_bytes": "1000000"}, "max.message.bytes=1000000"),
        (1, {"cleanup_policy": "compact"}, "cleanup.policy=compact"),
    ):
        topic = name()
        asyncio.run(create(kafka, topic, partitions, **settings))
        ((what, fix),) = problems(asyncio.run(told(kafka, topic)).findings)
        assert said in what
        assert fix


def test_a_control_topic_that_is_dated_by_its_writers_is_a_problem(kafka: str) -> None:
    async def scenario() -> None:
        topic = f"{name()}.topology"
        absent = await told(kafka, topic)
        assert not problems(absent.findings)
        assert not any(topic in finding.what for finding in absent.findings), "it is there only if there is a cluster"
        await create(kafka, topic)
        ((what, fix),) = problems((await told(kafka, topic)).findings)
        assert "message.timestamp.type=CreateTime" in what
        assert fix.startswith("kafka-configs.sh")
        assert fix.endswith("message.timestamp.type=LogAppendTime")
        assert not problems((await told(kafka, f"{name()}.topology", ensure=True)).findings)

    asyncio.run(scenario())


def test_a_missing_permission_is_reported_with_the_command() -> None:
    everything = sum(1 << bit for bit in (3, 4, 5, 6, 8, 10))
    assert not list(_permissions("package", everything))
    (found,) = _permissions("package", everything & ~(1 << 4) & ~(1 << 6))
    assert found.what == "this user lacks WRITE, DELETE on topic 'package'"
    assert found.fix == "kafka-acls.sh --add --topic package --operation WRITE --operation DELETE"


def test_a_broker_that_is_gone_is_reported(own_kafka: LocalKafka) -> None:
    own_kafka.kill(1)
    with pytest.raises(LogUnavailable, match="refuses connections"):
        asyncio.run(told(own_kafka.bootstrap, "package", options="request_timeout_ms=500"))
