"""Members form a cluster on Kafka."""

import asyncio
import uuid

import pytest

from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.logs.kafka.topics import settings
from tests.conformance.members import three_join_one_leaves_and_one_is_cut_off

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic() -> str:
    return f"checked-{uuid.uuid4().hex[:12]}.topology"


def test_members_agree_on_a_log_in_kafka(kafka: str, topic: str) -> None:
    address = parse_address(f"kafka://{kafka}")

    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: KafkaLog(address), topic))


def test_the_broker_dates_the_records_of_a_control_topic_and_of_no_other(kafka: str, topic: str) -> None:
    async def dated_by(name: str) -> str:
        log = KafkaLog(parse_address(f"kafka://{kafka}"))
        try:
            await log.ensure(name)
            found = await settings(log._cluster, name, ["message.timestamp.type"])
        finally:
            await log.close()
        return found["message.timestamp.type"]

    assert asyncio.run(dated_by(topic)) == "LogAppendTime"
    assert asyncio.run(dated_by(f"{topic}.package")) == "CreateTime"
