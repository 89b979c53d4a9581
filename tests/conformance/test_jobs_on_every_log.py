"""Jobs are run on every log; ``kafka/`` has the test for Kafka."""

import asyncio
from pathlib import Path

import pytest

from tests.conformance.jobs import newcomers_know_all_jobs_of_a_topic_that_was_trimmed as trimmed
from tests.conformance.jobs import two_workers_run_retry_limit_and_stop_jobs as scenario


def test_jobs_are_run_on_a_log_in_memory(tmp_path: Path) -> None:
    asyncio.run(scenario("memory:", tmp_path))


def test_jobs_are_run_on_a_log_in_sqlite(tmp_path: Path) -> None:
    asyncio.run(scenario("sqlite:///./board.db", tmp_path))


def test_jobs_are_run_on_a_log_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    asyncio.run(scenario(postgres_url, tmp_path))


@pytest.mark.proves("J75")
@pytest.mark.parametrize("url", ["memory:", "sqlite:///./board.db"])
def test_newcomers_know_all_jobs_of_a_trimmed_topic(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(trimmed(url, tmp_path, monkeypatch))


@pytest.mark.proves("J75")
def test_newcomers_know_all_jobs_of_a_trimmed_topic_in_postgres(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(trimmed(postgres_url, tmp_path, monkeypatch))
