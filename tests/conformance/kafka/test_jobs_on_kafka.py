"""Jobs are run on Kafka."""

import asyncio
from pathlib import Path

import pytest

from tests.conformance.jobs import two_workers_run_retry_limit_and_stop_jobs as scenario

pytestmark = pytest.mark.kafka


def test_jobs_are_run_on_a_log_in_kafka(kafka: str, tmp_path: Path) -> None:
    asyncio.run(scenario(f"kafka://{kafka}", tmp_path))
