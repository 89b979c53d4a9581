"""Kafka for tests: a private broker on loopback, removed at the end, or librdkafka's mock of one.

The mock speaks the protocol but is not Kafka: it keeps no settings, deletes nothing on request and wakes no reader.
"""

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import callboard
from callboard.backends.log import Capability, Retention
from callboard.backends.logs.kafka.client.protocol import MetadataRequest
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.logs.kafka.topics import BATCH_BYTES
from callboard.backends.logs.limits import check_topic_name
from callboard.errors import NotSupported

SERVERS = "CALLBOARD_TEST_KAFKA"
"""The environment variable with the ``host:port`` of a broker to use instead of a private one."""

SCRIPT = Path(callboard.__file__).parent.parent / "deploy" / "kafka" / "broker.py"
"""Runs a broker; part of callboard's sources, but not of the installed package."""

MOCK_TIMEOUT_S = 10.0


class LocalKafka(Protocol):
    """See ``deploy/kafka/broker.py``."""

    data: Path
    bootstrap: str
    secure_bootstrap: str
    relayed_port: int
    certificate: Path

    def start(self) -> None:
        """Start all brokers that are down, and wait until all of them answer."""

    def stop(self) -> None:
        """Stop every broker."""

    def kill(self, node: int) -> None:
        """Kill a broker with SIGKILL."""

    def signal(self, node: int, number: int) -> None:
        """Send a signal to a broker."""

    def said(self, node: int) -> str:
        """The last output of a broker."""

    def nodes(self) -> list[int]:
        """The ids of the brokers."""


class KafkaMissing(Exception):
    """No real broker is available here; the message says why."""


@contextmanager
def local_kafka(brokers: int = 1, secure: str = "", relay_port: int = 0) -> Iterator[LocalKafka]:
    """A new, running cluster; see ``LocalKafka`` in ``deploy/kafka/broker.py``. Raises ``KafkaMissing``."""
    script = _script()
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        options = {"brokers": brokers, "secure": secure, "leash": True, "relay_port": relay_port}
        cluster = script.LocalKafka(Path(folder) / "data", **options)
        try:
            try:
                cluster.start()
            except script.Unavailable as error:
                raise KafkaMissing(str(error)) from error
            yield cluster
        finally:
            cluster.stop()


@contextmanager
def kafka_servers() -> Iterator[str]:
    """``host:port`` of the broker in ``CALLBOARD_TEST_KAFKA``, else of a new one. Raises ``KafkaMissing``."""
    if servers := os.environ.get(SERVERS, ""):
        yield servers
        return
    with local_kafka() as cluster:
        yield cluster.bootstrap


@contextmanager
def mock_kafka() -> Iterator[str]:
    """``host:port`` of librdkafka's mock broker, in this process. Needs confluent-kafka."""
    from confluent_kafka import Producer

    client = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "", "log_level": 0})
    (broker,) = client.list_topics(timeout=MOCK_TIMEOUT_S).brokers.values()
    yield f"{broker.host}:{broker.port}"


class MockKafkaLog(KafkaLog):
    """A log over the mock, which creates topics by itself, and does not report their partitions and limits."""

    @property
    def capabilities(self) -> Capability:
        """See ``Log``."""
        return super().capabilities & ~Capability.TRIM

    async def ensure(self, topic: str) -> None:
        """See ``Log``."""
        self._check_open()
        check_topic_name(topic)
        await self._cluster.ask_any(MetadataRequest(topic, create=True), lambda answer: int(answer.topics[0][0]))
        await self._cluster.find(topic)
        self._write_to(topic, BATCH_BYTES)

    async def trim(self, topic: str, retention: Retention) -> int:  # noqa: ARG002 - no retention is possible
        """See ``Log``."""
        raise NotSupported(f"the mock of Kafka cannot trim topic {topic!r}; use a real broker")


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("callboard_local_kafka", SCRIPT)
    if not SCRIPT.exists() or spec is None or spec.loader is None:
        raise KafkaMissing(f"there is no {SCRIPT}; name a broker in {SERVERS}, or work in a checkout of callboard")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
