"""The Kafka log passes the suite: on a real broker all of it, on the mock what the mock can do."""

import asyncio
from collections.abc import Callable

import pytest

from callboard.backends.logs.tail import SharedTail
from callboard.testing.conformance.candidates.kafka import kafka_log, kafka_mock_log
from callboard.testing.conformance.candidates.logs import kafka_candidate
from callboard.testing.conformance.candidates.memory_log import itself
from callboard.testing.conformance.log import ALL_CHECKS, Check, restart, verify
from callboard.testing.servers.kafka import SERVERS


@pytest.mark.kafka
@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("around", [itself, SharedTail], ids=["log", "tail"])
def test_a_kafka_log_passes_the_suite(around: Callable, check: Check, kafka: str) -> None:
    with kafka_log(kafka, around=around) as harness:
        asyncio.run(verify(check, harness))


@pytest.mark.kafka
@pytest.mark.usefixtures("kafka")  # which fails if there is none
def test_a_kafka_log_survives_a_restart_of_its_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVERS, raising=False)
    with kafka_candidate().start() as new, new() as harness:
        assert asyncio.run(verify(restart.check_a_restart_loses_nothing, harness)) == ""


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_the_mock_of_kafka_passes_the_checks_that_apply(check: Check, kafka_mock: str) -> None:
    """It does not declare to trim, and has no gaps to look at: it shows what was rolled back."""
    with kafka_mock_log(kafka_mock) as harness:
        asyncio.run(verify(check, harness))
