"""Members form a cluster on every log; ``kafka/`` has the test for Kafka."""

import asyncio
from pathlib import Path

import pytest

from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.testing.conformance.candidates.logs import postgres_candidate, postgres_log
from callboard.testing.servers.postgres import INSTALLATIONS, PostgresServer
from tests.conformance.members import (
    a_replaced_topic_ends_the_standing,
    a_restarted_server_costs_no_view,
    three_join_one_leaves_and_one_is_cut_off,
)


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


@pytest.mark.postgres
def test_a_restart_of_the_server_changes_no_view() -> None:
    with postgres_candidate(max(INSTALLATIONS)).start() as new, new() as harness:
        assert harness.url
        assert harness.restart
        url, restart = harness.url, harness.restart
        asyncio.run(a_restarted_server_costs_no_view(lambda: PostgresLog(url), restart))
