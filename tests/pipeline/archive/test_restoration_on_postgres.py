"""Postgres keeps only digests of keys, and its partitions begin where the records do."""

import asyncio
from collections.abc import Iterator

import pytest

from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.errors import NotSupported
from callboard.messages.record import NewRecord
from callboard.testing.servers.postgres import PostgresServer, own_schema, postgres_server

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    with own_schema(server.url) as own:
        yield own


other_url = url


def test_a_restored_log_has_the_same_records_at_the_same_offsets_under_the_same_keys(archive, url):
    async def scenario() -> None:
        log = PostgresLog(url)
        await archive.check_restored(log)
        await log.close()

    asyncio.run(scenario())


def test_keys_archived_as_digests_still_deduplicate_on_logs_that_store_digests(archive, url, other_url, tmp_path):
    async def scenario() -> None:
        archive.log, log, without = PostgresLog(url), PostgresLog(other_url), SqliteLog(tmp_path / "log")
        await archive.fill(10)
        await archive.run()
        assert await archive.archived() == await archive.on_log()
        await archive.restored(log, same_identity=True)
        assert await archive.on_log(log) == await archive.on_log()
        assert await log.identity(archive.topic) == await archive.log.identity(archive.topic)
        assert await log.append(archive.topic, [NewRecord(payload=b"", key="key-7")]) == [7]
        await archive.restored(without)
        assert await archive.on_log(without) == await archive.on_log()
        for each in (archive.log, log, without):
            await each.close()

    asyncio.run(scenario())


def test_an_invalid_identity_of_a_log_is_refused(archive, url, tmp_path):
    async def scenario() -> None:
        archive.log, log = SqliteLog(tmp_path / "log"), PostgresLog(url)
        await archive.fill(3)
        await archive.run()
        with pytest.raises(NotSupported, match="with an identity of its own"):
            await archive.restored(log, same_identity=True)
        await archive.restored(log)
        assert await archive.on_log(log) == await archive.on_log()
        for each in (archive.log, log):
            await each.close()

    asyncio.run(scenario())


def test_a_history_that_begins_late_needs_no_partitions_for_missing_records(archive, url):
    async def scenario() -> None:
        log = PostgresLog(url)
        await archive.fill(1)
        await archive.log.complete(archive.topic, "", 1, 50_000_123)
        await archive.fill(5)
        await archive.run()
        await archive.restored(log)
        assert await archive.on_log(log) == await archive.on_log()
        assert await log.append(archive.topic, [NewRecord(payload=b"new")]) == [50_000_128]
        await log.close()

    asyncio.run(scenario())
