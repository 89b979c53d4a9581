"""Creates topics, and checks the settings of existing ones."""

from collections.abc import Sequence
from typing import Any

from aiokafka.protocol.admin import CreateTopicsRequest, DescribeConfigsRequest

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.backends.logs.kafka.address import Address
from callboard.backends.logs.kafka.client.cluster import Attempts, Cluster, Topic
from callboard.backends.logs.kafka.client.failure import (
    FORBIDDEN,
    INVALID_REPLICATION_FACTOR,
    STALE,
    TOPIC_EXISTS,
    UNKNOWN_TOPIC,
    refused,
)
from callboard.backends.logs.limits import missing
from callboard.errors import ConfigError, LogError, LogUnavailable, TopicMissing
from callboard.logger import get_logger
from callboard.messages.topics import is_control_topic

BATCH_BYTES = 8 << 20
"""``max.message.bytes`` of new topics, hence the limit of one append; several hosted services allow no more."""

BATCH_BYTES_MIN = RECORD_BYTES_MAX + (1 << 16)
"""The least that a topic must accept for every legal record to fit: its bytes plus Kafka's framing."""

_TOPIC_RESOURCE = 2
SETTINGS = ("max.message.bytes", "cleanup.policy")
"""The settings that ``check`` needs."""

DATED_BY = "message.timestamp.type"
APPEND_TIME = "LogAppendTime"


async def ensure(cluster: Cluster, name: str, address: Address) -> int:
    """Create the topic, or check the existing one; returns the largest batch it accepts, in bytes.

    Raises ``ConfigError`` naming the wrong setting, and the fix.
    """
    attempts = Attempts(cluster.timeout_ms)
    while True:
        try:
            topic = await cluster.find(name)
            found = await settings(cluster, name)
            check(topic, found)
            return batch_bytes(found)
        except TopicMissing as error:
            reason: LogError = error
        try:
            await create(cluster, name, address)
        except LogUnavailable as error:
            reason = error
        await attempts.pause(reason)  # until every broker knows the topic


def check(topic: Topic, found: dict[str, str]) -> None:
    """Raise ``ConfigError`` for a topic whose settings callboard cannot work with."""
    alter = f"kafka-configs.sh --alter --entity-type topics --entity-name {topic.name} --add-config"
    if topic.partitions != 1:
        raise ConfigError(
            f"topic {topic.name!r} has {topic.partitions} partitions, and records are in order only within one; "
            "create it with 1 partition, or set another prefix"
        )
    if batch_bytes(found) < BATCH_BYTES_MIN:
        raise ConfigError(
            f"topic {topic.name!r} has max.message.bytes={found['max.message.bytes']}, and records may take "
            f"{BATCH_BYTES_MIN}; {alter} max.message.bytes={BATCH_BYTES}"
        )
    if "compact" in found.get("cleanup.policy", ""):
        raise ConfigError(
            f"topic {topic.name!r} has cleanup.policy={found['cleanup.policy']}, which removes records that are "
            f"still needed; {alter} cleanup.policy=delete"
        )


def batch_bytes(found: dict[str, str]) -> int:
    """The largest batch that a topic accepts, in bytes; the minimum of ``check`` if the settings are not visible."""
    return int(found.get("max.message.bytes", BATCH_BYTES_MIN))


async def settings(cluster: Cluster, name: str, wanted: Sequence[str] = SETTINGS) -> dict[str, str]:
    """The topic's settings of these names; empty if this user may not see them."""
    request = DescribeConfigsRequest([(_TOPIC_RESOURCE, name, list(wanted))])
    answer = await cluster.ask_any(request, lambda answer: answer.resources[0][0])
    error, _, _, _, entries, *_ = answer.resources[0]
    if error == UNKNOWN_TOPIC:
        cluster.forget(name)
        raise missing(name)
    if error in FORBIDDEN:
        get_logger().warning("settings.hidden", topic=name, advice="allow DESCRIBE_CONFIGS to have them checked")
        return {}
    if error:
        raise refused(error, name)
    return {entry[0]: entry[1] for entry in entries}


async def create(cluster: Cluster, name: str, address: Address, validate_only: bool = False) -> None:
    """Create the topic, or with ``validate_only`` have the broker check whether it would; one attempt."""
    configs = {
        "cleanup.policy": "delete",
        "max.message.bytes": str(BATCH_BYTES),
        "retention.ms": str(address.retention_ms),
        "retention.bytes": str(address.retention_bytes),
    }
    if is_control_topic(name):  # its records count time, so one clock has to date them
        configs[DATED_BY] = APPEND_TIME
    topic: tuple[Any, ...] = (name, 1, address.replication_factor, [], list(configs.items()))
    answer = await cluster.ask_controller(CreateTopicsRequest([topic], cluster.timeout_ms, validate_only))
    _, error, message = answer.topic_errors[0]
    if error == INVALID_REPLICATION_FACTOR:  # perhaps only until more brokers are up
        raise LogUnavailable(f"Kafka cannot create topic {name!r}: {message}; start brokers or set replication_factor=")
    if error in STALE:
        raise LogUnavailable(f"Kafka cannot create topic {name!r} yet: {message}")
    if error and error in FORBIDDEN:
        raise refused(error, name)
    if error and error != TOPIC_EXISTS:
        raise ConfigError(f"Kafka refuses to create topic {name!r}: {message}; create it by hand, with one partition")
