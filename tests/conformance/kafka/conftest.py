"""A real Kafka broker for the tests of this folder, or loudly none.

Where Java or Maven cannot be had the tests marked ``kafka`` are skipped and only the mock is left; with CI=true
that is an error.
"""

import os
from collections.abc import Iterator

import pytest

from callboard.testing.kafka import KafkaMissing, kafka_servers, mock_kafka

_missing: list[str] = []


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The ``host:port`` of a real broker."""
    try:
        with kafka_servers() as servers:
            yield servers
    except KafkaMissing as error:
        if os.environ.get("CI") == "true":
            raise
        _missing.append(str(error))
        pytest.skip(f"NO REAL KAFKA, only its mock: {error}")


@pytest.fixture(scope="session")
def kafka_mock() -> Iterator[str]:
    """The ``host:port`` of the mock broker."""
    with mock_kafka() as servers:
        yield servers


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _missing:
        terminalreporter.section("NO REAL KAFKA", sep="!", red=True, bold=True)
        terminalreporter.line(f"Kafka was tested on librdkafka's mock only, which is no proof: {_missing[0]}", red=True)
