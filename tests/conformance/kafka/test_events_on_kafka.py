"""Events are heard on Kafka."""

import asyncio
from pathlib import Path

import pytest

from tests.conformance.events import listeners_get_every_event_and_go_on_where_they_were as scenario

pytestmark = pytest.mark.kafka


def test_events_are_heard_on_a_log_in_kafka(kafka: str, tmp_path: Path) -> None:
    asyncio.run(scenario(f"kafka://{kafka}", tmp_path))
