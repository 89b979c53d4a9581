"""Jobs are run on Kafka."""

import asyncio
from pathlib import Path

import pytest

from tests.conformance.jobs import newcomers_know_all_jobs_of_a_topic_that_was_trimmed as trimmed
from tests.conformance.jobs import two_workers_run_retry_limit_and_stop_jobs as scenario

pytestmark = pytest.mark.kafka


def test_jobs_are_run_on_a_log_in_kafka(kafka: str, tmp_path: Path) -> None:
    asyncio.run(scenario(f"kafka://{kafka}", tmp_path))


@pytest.mark.proves("J75")
def test_newcomers_know_all_jobs_of_a_trimmed_topic_in_kafka(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(trimmed(f"kafka://{kafka}", tmp_path, monkeypatch))
