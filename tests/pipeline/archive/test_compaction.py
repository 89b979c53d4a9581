"""A compaction makes large files of small ones; concurrent readers miss nothing and see nothing twice."""

import asyncio

import pytest

from callboard.archive.compaction import compact
from callboard.archive.reader import ArchiveReader
from callboard.archive.vacuum import vacuum
from callboard.backends.log import Retention
from callboard.errors import ArchiveBusy

DAY_NS = 24 * 3600 * 10**9


def test_a_compaction_puts_the_same_records_into_fewer_files(archive):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()
        truth = await archive.archived()
        done = await compact(archive.store, archive.topic, lambda: archive.now_ns, archive.unique)
        assert (done.generation, done.files_before, done.files, done.rows) == (1, 5, 1, 45)
        assert await archive.archived() == truth == await archive.on_log()
        assert await archive.archived(13, 14) == truth[12:13]

    asyncio.run(scenario())


def test_runs_continue_after_a_compaction_and_the_next_one_includes_them(archive):
    async def scenario() -> None:
        await archive.fill(25)
        await archive.run()
        await compact(archive.store, archive.topic, lambda: archive.now_ns, archive.unique)
        await archive.fill(25)
        await archive.run()
        assert await archive.archived() == await archive.on_log()
        done = await compact(archive.store, archive.topic, lambda: archive.now_ns, archive.unique)
        assert (done.generation, done.files_before, done.files, done.rows) == (2, 4, 1, 50)
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_large_files_are_left_alone(archive):
    async def scenario() -> None:
        await archive.fill(300)
        await archive.run(per_segment=100)
        small = max(file.length for file in (await ArchiveReader(archive.store).topic(archive.topic)).files)
        nothing = await compact(archive.store, archive.topic, lambda: 1, archive.unique, segment_bytes=small)
        assert nothing.generation == 0
        assert await archive.names("generation/") == []

    asyncio.run(scenario())


def test_a_reader_that_has_begun_can_continue_for_a_day(archive):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()
        truth, reader = await archive.on_log(), ArchiveReader(archive.store)
        pinned = await reader.topic(archive.topic)
        reading = reader.read(archive.topic)
        begun = [await anext(reading) for _ in range(15)]
        archive.now_ns = min([stored.stored_ns async for stored in archive.store.list("")])
        await compact(archive.store, archive.topic, lambda: archive.now_ns, archive.unique)
        assert (await vacuum(archive.store, archive.topic, archive.now_ns + DAY_NS)).files == 0
        assert begun + [record async for record in reading] == truth
        rows = [batch.num_rows async for batch in reader.batches(archive.topic, pinned=pinned)]
        assert sum(rows) == 45
        assert (await vacuum(archive.store, archive.topic, archive.now_ns + 2 * DAY_NS)).files == 5
        assert await archive.archived() == truth

    asyncio.run(scenario())


def test_of_two_concurrent_compactions_one_ends_with_an_error(archive, stopping):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()

        async def other_is_faster(_: int, what: str) -> None:
            if what.startswith("put generation"):
                await compact(archive.store, archive.topic, lambda: archive.now_ns + 1, archive.unique)

        with pytest.raises(ArchiveBusy, match="another process compacted"):
            await compact(stopping(archive.store, other_is_faster), archive.topic, lambda: archive.now_ns,
                          archive.unique)  # fmt: skip
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_run_during_a_compaction_loses_nothing(archive, stopping):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()
        await archive.fill(12)

        async def archive_more(_: int, what: str) -> None:
            if what.startswith("put generation"):
                await archive.run()

        store = stopping(archive.store, archive_more)
        await compact(store, archive.topic, lambda: archive.now_ns, archive.unique)
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_holes_stay_recorded(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.run()
        await archive.fill(20)
        await archive.log.trim(archive.topic, Retention(below_offset=25))
        await archive.run(accept_hole=True)
        await compact(archive.store, archive.topic, lambda: archive.now_ns, archive.unique)
        found = await ArchiveReader(archive.store).topic(archive.topic)
        assert [(hole.first, hole.next) for hole in found.holes] == [(21, 25)]
        assert await archive.archived(25) == await archive.on_log()

    asyncio.run(scenario())
