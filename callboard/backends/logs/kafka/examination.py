"""The checks of ``callboard doctor`` for Kafka: brokers, the settings of topics, replicas, and permissions.

Kafka reports neither its version nor its time. It is new enough if it understands the requests.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from callboard.backends.examination import Examination, Finding, advice, ok, problem, problem_of
from callboard.backends.log import Retention
from callboard.backends.logs.kafka import topics
from callboard.backends.logs.kafka.address import KEEP_FOR_EVER, Address
from callboard.backends.logs.kafka.client.cluster import Cluster
from callboard.backends.logs.kafka.client.protocol import MetadataRequest
from callboard.errors import ConfigError, LogUnavailable, TopicMissing
from callboard.messages.topics import is_control_topic

_OPERATIONS = {"READ": 3, "WRITE": 4, "CREATE": 5, "DELETE": 6, "DESCRIBE": 8, "DESCRIBE_CONFIGS": 10}
"""The operations that callboard needs on a topic, and their bits in a broker's report of this user's permissions."""

_NEEDED = ("READ", "WRITE", "DESCRIBE", "DELETE")
"""Besides these, CREATE is needed once, and DESCRIBE_CONFIGS only for the checks."""

_NOT_TOLD = -(1 << 31)
_FROM_THE_BROKER = "min.insync.replicas"
_RETENTION = ("retention.ms", "retention.bytes")
_SETTINGS = (*topics.SETTINGS, *_RETENTION, _FROM_THE_BROKER, topics.DATED_BY)


async def examine(cluster: Cluster, address: Address, names: Sequence[str]) -> Examination:
    """Check every topic. Raises ``LogUnavailable`` and ``ConfigError`` when no broker answers."""
    found, kept = list[Finding](), dict[str, Retention]()
    for name in names:
        answer = await cluster.ask_any(MetadataRequest(name, operations=True), lambda answer: int(answer.topics[0][0]))
        if not found:
            found.append(ok(f"Kafka answers: {len(answer.brokers)} brokers, cluster {answer.cluster_id}"))
        try:
            topic = await cluster.find(name)
            settings = await topics.settings(cluster, name, _SETTINGS)
            topics.check(topic, settings)
        except TopicMissing:
            if not is_control_topic(name):  # which only a board with a cluster has
                found.append(await _creatable(cluster, address, name))
            continue
        except ConfigError as error:
            found.append(problem_of(error))
            continue
        kept[name] = _retention(settings)
        told = [
            *_replicas(name, answer, settings), *_permissions(name, answer.topics[0][5]), *_dates(name, settings)
        ]  # fmt: skip
        found += told or [ok(f"topic {name!r}: 1 partition, {_shown(settings)}; this user may read, append and trim")]
    return Examination(found, kept)


async def _creatable(cluster: Cluster, address: Address, name: str) -> Finding:
    """Whether the topic could be created: the broker validates the request without carrying it out."""
    try:
        await topics.create(cluster, name, address, validate_only=True)
    except (ConfigError, LogUnavailable) as error:
        return problem_of(error)
    return ok(f"topic {name!r} is not there yet, and this user may create it")


def _replicas(name: str, answer: Any, settings: dict[str, str]) -> Iterator[Finding]:
    """The effect of losing a broker."""
    for _, _, _, _, replicas, in_sync, *_ in answer.topics[0][4]:
        least = int(settings.get(_FROM_THE_BROKER, 1))
        if len(in_sync) < least:
            yield problem(
                f"topic {name!r} has {len(in_sync)} replicas in sync and takes no records with fewer than {least}",
                "start the brokers that are missing",
            )
        elif len(in_sync) < len(replicas):
            yield problem(
                f"topic {name!r} has {len(in_sync)} of {len(replicas)} replicas in sync",
                "start the brokers that are missing, or see their logs",
            )
        elif len(answer.brokers) > 1 and least < 2:
            yield advice(
                f"topic {name!r} has min.insync.replicas={least}, so the loss of one broker may lose records",
                "give it 3 replicas, and set min.insync.replicas=2",
            )


def _permissions(name: str, operations: int) -> Iterator[Finding]:
    if operations == _NOT_TOLD:
        return
    allowed = {operation for operation, bit in _OPERATIONS.items() if operations >> bit & 1}
    if lacking := [operation for operation in _NEEDED if operation not in allowed]:
        yield problem(
            f"this user lacks {', '.join(lacking)} on topic {name!r}",
            " ".join(["kafka-acls.sh --add --topic", name, *(f"--operation {each}" for each in lacking)]),
        )


def _dates(name: str, settings: dict[str, str]) -> Iterator[Finding]:
    if is_control_topic(name) and (by := settings.get(topics.DATED_BY, topics.APPEND_TIME)) != topics.APPEND_TIME:
        yield problem(
            f"topic {name!r} has {topics.DATED_BY}={by}, so the wrong clock of one member changes the leases of all",
            f"kafka-configs.sh --alter --entity-type topics --entity-name {name} --add-config "
            f"{topics.DATED_BY}={topics.APPEND_TIME}",
        )


def _retention(settings: dict[str, str]) -> Retention:
    keep_ms, keep_bytes = (int(settings.get(name, KEEP_FOR_EVER)) for name in _RETENTION)
    return Retention(
        older_than_s=keep_ms / 1000 if keep_ms != KEEP_FOR_EVER else None,
        above_bytes=keep_bytes if keep_bytes != KEEP_FOR_EVER else None,
    )


def _shown(settings: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "its settings are hidden from this user"
