"""Members form a cluster on every log; ``kafka/`` has the test for Kafka."""

import asyncio
from pathlib import Path

from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.testing.conformance.candidates.logs import postgres_log
from callboard.testing.servers.postgres import PostgresServer
from tests.conformance.members import a_replaced_topic_ends_the_standing, three_join_one_leaves_and_one_is_cut_off


def test_members_agree_on_a_log_in_memory() -> None:
    log = MemoryLog()
    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: log))


def test_members_agree_on_a_log_in_sqlite(tmp_path: Path) -> None:
    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: SqliteLog(tmp_path)))


def test_members_agree_on_a_log_in_postgres(postgres_url: str) -> None:
    asyncio.run(three_join_one_leaves_and_one_is_cut_off(lambda: PostgresLog(postgres_url)))


def test_a_replaced_topic_ends_the_standing_of_a_member(newest_postgres: PostgresServer) -> None:
    with postgres_log(newest_postgres.url) as harness:
        asyncio.run(a_replaced_topic_ends_the_standing(harness))
