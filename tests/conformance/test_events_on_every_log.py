"""Events are heard on every log; ``kafka/`` has the test for Kafka."""

import asyncio
from pathlib import Path

from tests.conformance.events import listeners_get_every_event_and_go_on_where_they_were as scenario


def test_events_are_heard_on_a_log_in_memory(tmp_path: Path) -> None:
    asyncio.run(scenario("memory:", tmp_path))


def test_events_are_heard_on_a_log_in_sqlite(tmp_path: Path) -> None:
    asyncio.run(scenario("sqlite:///./board.db", tmp_path))


def test_events_are_heard_on_a_log_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    asyncio.run(scenario(postgres_url, tmp_path))
