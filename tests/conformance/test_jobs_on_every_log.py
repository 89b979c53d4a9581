"""Jobs are run on every log; ``kafka/`` has the test for Kafka."""

import asyncio
from pathlib import Path

from tests.conformance.jobs import two_workers_run_retry_limit_and_stop_jobs as scenario


def test_jobs_are_run_on_a_log_in_memory(tmp_path: Path) -> None:
    asyncio.run(scenario("memory:", tmp_path))


def test_jobs_are_run_on_a_log_in_sqlite(tmp_path: Path) -> None:
    asyncio.run(scenario("sqlite:///./board.db", tmp_path))


def test_jobs_are_run_on_a_log_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    asyncio.run(scenario(postgres_url, tmp_path))
