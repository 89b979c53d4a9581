"""Members form a cluster on every log; ``kafka/`` has the test for Kafka."""

import asyncio
from pathlib import Path

from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.sqlite import SqliteLog
from tests.conformance.members import three_join_one_leaves_and_one_is_cut_off


def test_members_agree_on_a_log_in_memory() -> None:
    log = MemoryLog()
    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: log))


def test_members_agree_on_a_log_in_sqlite(tmp_path: Path) -> None:
    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: SqliteLog(tmp_path)))


def test_members_agree_on_a_log_in_postgres(postgres_url: str) -> None:
    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: PostgresLog(postgres_url)))
