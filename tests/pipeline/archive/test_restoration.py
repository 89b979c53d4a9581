"""A restored log has the same records under the same offsets, and what relies on offsets continues with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from callboard.archive.archived_log import ArchivedLog
from callboard.archive.reader import ArchiveReader
from callboard.archive.restoration import restore
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.logs.tail import SharedTail
from callboard.backends.registry import open_log
from callboard.errors import LogReplaced, NotSupported, OffsetOutOfRange, RequestRefused
from callboard.messages.record import NewRecord


@asynccontextmanager
async def empty(kind: str, folder: Path) -> AsyncIterator[Log]:
    """An empty log of a kind."""
    log = MemoryLog() if kind == "memory" else SqliteLog(folder / "restored")
    yield log
    await log.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_restored_log_has_the_same_records_at_the_same_offsets_under_the_same_keys(archive, tmp_path, kind):
    async def scenario() -> None:
        async with empty(kind, tmp_path) as log:
            await archive.check_restored(log)

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_restored_log_may_replace_the_lost_one(archive, tmp_path, kind):
    async def scenario() -> None:
        await archive.fill(40)
        await archive.run()
        async with empty(kind, tmp_path) as log:
            await archive.restored(log, same_identity=True)
            assert await log.identity(archive.topic) == await archive.log.identity(archive.topic)
            assert await archive.restored(log, same_identity=True) == 0
            archive.log = log
            await archive.fill(5)
            await archive.run()
            assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_restored_log_continues_the_archive_and_the_former_one_cannot(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.run()
        former, archive.log = archive.log, MemoryLog()
        await archive.restored(archive.log)
        await archive.fill(5)
        await archive.run()
        assert await archive.archived() == await archive.on_log()
        archive.log = former
        await archive.fill(9)
        with pytest.raises(LogReplaced, match="not the one that was archived"):
            await archive.run()

    asyncio.run(scenario())


def test_a_log_with_records_of_its_own_is_not_restored_into(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.run()
        other = MemoryLog()
        await other.ensure(archive.topic)
        await other.append(archive.topic, [NewRecord(payload=b"mine")])
        with pytest.raises(RequestRefused, match="not from this archive"):
            await archive.restored(other)
        assert len(await archive.on_log(other)) == 1
        await other.trim(archive.topic, Retention(below_offset=2))
        with pytest.raises(RequestRefused, match="has already assigned offsets up to 2"):
            await archive.restored(other)

    asyncio.run(scenario())


def test_an_append_to_a_log_during_its_restoration_is_detected(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.run()
        log = MemoryLog()
        steps = restore(archive.store, log, archive.topic)
        await anext(steps)
        await log.append(archive.topic, [NewRecord(payload=b"too early")])
        with pytest.raises(RequestRefused, match="another process appends"):
            await anext(steps)

    asyncio.run(scenario())


def test_records_after_a_hole_are_restored_and_those_before_it_count_as_trimmed(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.run()
        await archive.fill(20)
        await archive.log.trim(archive.topic, Retention(below_offset=25))
        await archive.run(accept_hole=True)
        log = MemoryLog()
        await archive.restored(log)
        assert await log.bounds(archive.topic) == (25, 41)
        assert await archive.on_log(log) == await archive.on_log()

    asyncio.run(scenario())


def test_a_log_that_chooses_its_offsets_is_refused(archive):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()
        with pytest.raises(NotSupported, match="assigns its own offsets"):
            await archive.restored(SharedTail(MemoryLog()))

    asyncio.run(scenario())


def test_a_kafka_log_is_refused_with_the_reason_before_any_connection(archive):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()
        log = open_log("kafka://127.0.0.1:1", Path.cwd())
        with pytest.raises(NotSupported, match=r"by their old ones; restore the archive into a log of SQLite"):
            await archive.restored(log)
        await log.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("page", [1, 4, 1000])
def test_a_log_with_an_archive_goes_back_to_where_the_archive_begins(archive, page):
    async def scenario() -> None:
        await archive.fill(40)
        truth = await archive.on_log()
        await archive.run()
        await archive.log.trim(archive.topic, Retention(below_offset=33))
        await archive.fill(3)
        truth += (await archive.on_log())[8:]
        long = ArchivedLog(archive.log, ArchiveReader(archive.store))
        assert await long.bounds(archive.topic) == (1, 44)
        found = []
        while len(found) < 43:
            found += await long.read(archive.topic, len(found) + 1, page)
        assert found == truth
        assert [record.offset for record in await long.read(archive.topic, 7, 2)] == [7, 8]
        with pytest.raises(OffsetOutOfRange):
            await long.read(archive.topic, 0)
        await long.close()

    asyncio.run(scenario())


def test_an_archive_that_does_not_reach_the_start_of_the_log_adds_nothing(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.run()
        await archive.fill(20)
        await archive.log.trim(archive.topic, Retention(below_offset=25))
        long = ArchivedLog(archive.log, ArchiveReader(archive.store))
        assert await long.bounds(archive.topic) == (25, 41)
        with pytest.raises(OffsetOutOfRange):
            await long.read(archive.topic, 20)
        await long.close()

    asyncio.run(scenario())
