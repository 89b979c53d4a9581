"""Real Kafka brokers for the tests of this folder, or loudly none.

Where Java or Maven cannot be had the tests marked ``kafka`` are skipped and only the mock is left; with CI=true
that is an error. ``pytest -m "not kafka"`` leaves them out.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import pytest

from callboard.testing.servers.kafka import KafkaMissing, LocalKafka, kafka_servers, local_kafka, mock_kafka

SECURE_USER = "ann:ann's secret"

T = TypeVar("T")

_missing: list[str] = []


@contextmanager
def _or_loudly_skipped(start: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    try:
        with start() as started:
            yield started
    except KafkaMissing as error:
        if os.environ.get("CI") == "true":
            raise
        _missing.append(str(error))
        pytest.skip(f"NO REAL KAFKA, only its mock: {error}")


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The ``host:port`` of a real broker."""
    with _or_loudly_skipped(kafka_servers) as servers:
        yield servers


@pytest.fixture
def own_kafka() -> Iterator[LocalKafka]:
    """A real broker that a test may kill."""
    with _or_loudly_skipped(local_kafka) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secure_kafka() -> Iterator[LocalKafka]:
    """A real broker with a listener that wants TLS and a password."""
    with _or_loudly_skipped(lambda: local_kafka(secure=SECURE_USER)) as cluster:
        yield cluster


@pytest.fixture
def three_brokers() -> Iterator[LocalKafka]:
    """A cluster that survives the loss of a broker."""
    with _or_loudly_skipped(lambda: local_kafka(brokers=3)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_mock() -> Iterator[str]:
    """The ``host:port`` of the mock broker."""
    with mock_kafka() as servers:
        yield servers


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _missing:
        terminalreporter.section("NO REAL KAFKA", sep="!", red=True, bold=True)
        terminalreporter.line(f"Kafka was tested on librdkafka's mock only, which is no proof: {_missing[0]}", red=True)
