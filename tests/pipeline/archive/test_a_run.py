"""A run archives what is new, once, and stops loudly where it cannot."""

import asyncio

import pytest

from callboard.archive.reader import ArchiveReader
from callboard.backends.log import Retention
from callboard.errors import ArchiveBusy, ArchiveHole, LogReplaced, OffsetOutOfRange


def test_the_archive_equals_the_log(archive):
    async def scenario() -> None:
        await archive.fill(25)
        steps = await archive.run()
        assert [(step.first, step.next, step.rows) for step in steps] == [(1, 11, 10), (11, 21, 10), (21, 26, 5)]
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_second_run_archives_only_new_records(archive):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()
        assert await archive.run() == []
        await archive.fill(3)
        assert [step.rows for step in await archive.run()] == [3]
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_topic_that_never_had_a_record_has_no_archive(archive):
    async def scenario() -> None:
        await archive.fill(0)
        assert await archive.run() == []
        assert await archive.names() == []

    asyncio.run(scenario())


def test_an_archive_begins_where_the_log_does(archive):
    async def scenario() -> None:
        await archive.fill(20)
        await archive.log.trim(archive.topic, Retention(below_offset=8))
        await archive.run()
        records = await archive.archived()
        assert [record.offset for record in records] == list(range(8, 21))
        with pytest.raises(OffsetOutOfRange):
            await archive.archived(7)

    asyncio.run(scenario())


def test_a_range_is_read_by_its_offsets(archive):
    async def scenario() -> None:
        await archive.fill(35)
        await archive.run()
        assert [record.offset for record in await archive.archived(8, 23)] == list(range(8, 23))
        assert await archive.archived(36) == []
        with pytest.raises(OffsetOutOfRange):
            await archive.archived(37)

    asyncio.run(scenario())


@pytest.mark.parametrize("per_segment", [1, 3, 1000])
def test_a_trimmed_log_that_was_archived_leaves_no_hole(archive, per_segment):
    async def scenario() -> None:
        await archive.fill(10)
        before = await archive.on_log()
        await archive.run(per_segment=per_segment)
        await archive.log.trim(archive.topic, Retention(below_offset=11))
        await archive.fill(4)
        await archive.run(per_segment=per_segment)
        assert await archive.archived() == before + await archive.on_log()

    asyncio.run(scenario())


def test_records_trimmed_before_they_were_archived_are_reported_as_a_hole(archive):
    async def scenario() -> None:
        await archive.fill(10)
        await archive.run()
        await archive.fill(10)
        await archive.log.trim(archive.topic, Retention(below_offset=15))
        with pytest.raises(ArchiveHole, match=r"ARCHIVE HOLE.*up to 15, but is archived only up to 11"):
            await archive.run()
        assert len(await archive.archived()) == 10

    asyncio.run(scenario())


def test_an_accepted_hole_is_recorded_and_readers_stop_at_it(archive):
    async def scenario() -> None:
        await archive.fill(10)
        await archive.run()
        await archive.fill(10)
        await archive.log.trim(archive.topic, Retention(below_offset=15))
        await archive.run(accept_hole=True)
        found = await ArchiveReader(archive.store).topic(archive.topic)
        assert [(hole.first, hole.next) for hole in found.holes] == [(11, 15)]
        assert found.after_holes == 15
        with pytest.raises(ArchiveHole, match="read up to 11, or from 15 on"):
            await archive.archived()
        assert await archive.archived(15) == await archive.on_log()
        assert len(await archive.archived(1, 11)) == 10

    asyncio.run(scenario())


def test_a_retention_that_overtakes_a_run_makes_a_hole_and_no_silent_loss(archive, stopping):
    async def scenario() -> None:
        await archive.fill(30)

        async def trim(_: int, what: str) -> None:
            if what.startswith("have put segment"):
                await archive.log.trim(archive.topic, Retention(below_offset=25))

        with pytest.raises(ArchiveHole, match="up to 25, but is archived only up to 11"):
            await archive.run(store=stopping(archive.store, trim))
        assert len(await archive.archived()) == 10

    asyncio.run(scenario())


def test_another_log_under_the_same_name_is_refused(archive):
    async def scenario() -> None:
        await archive.fill(10)
        await archive.run()
        other = type(archive)(archive.store, type(archive.log)())
        await other.fill(20)
        with pytest.raises(LogReplaced, match="not the one that was archived"):
            await other.run()
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_log_replaced_during_a_run_adds_nothing(archive, stopping):
    async def scenario() -> None:
        await archive.fill(10)

        async def replace(_: int, what: str) -> None:
            if what.startswith("have put segment"):
                await archive.log.complete(archive.topic, "another", 1, 1)

        with pytest.raises(LogReplaced, match="while it was read"):
            await archive.run(store=stopping(archive.store, replace))
        assert await archive.names("manifest/") == []

    asyncio.run(scenario())


def test_a_log_that_lost_its_newest_records_is_refused(archive):
    async def scenario() -> None:
        await archive.fill(10)
        await archive.run()
        copy = type(archive)(archive.store, type(archive.log)())
        await copy.fill(5)
        await copy.log.complete(archive.topic, await archive.log.identity(archive.topic), 1, 1)
        with pytest.raises(LogReplaced, match="ends at 6 but is archived up to 11"):
            await copy.run()

    asyncio.run(scenario())


def test_of_two_concurrent_runs_one_ends_with_an_error(archive, stopping):
    async def scenario() -> None:
        await archive.fill(25)
        reports = []

        async def other_is_faster(_: int, what: str) -> None:
            if what.startswith("put manifest") and not reports:
                reports.extend(await archive.run(per_segment=7))

        with pytest.raises(ArchiveBusy, match="another process archived"):
            await archive.run(store=stopping(archive.store, other_is_faster))
        assert sum(step.rows for step in reports) == 25
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_lost_answer_is_not_taken_for_another_run(archive, stopping):
    """A client repeats a write whose answer was lost, and learns that the file exists."""

    class Repeating(stopping):
        async def put_new(self, name, content):
            assert await super().put_new(name, content)
            return await self._store.put_new(name, content)

    async def scenario() -> None:
        await archive.fill(25)

        async def go_on(_: int, __: str) -> None:
            return None

        await archive.run(store=Repeating(archive.store, go_on))
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_every_range_records_the_ends_of_the_other_topics(archive):
    async def scenario() -> None:
        await archive.fill(3, archive.topics[1])
        await archive.fill(3)
        await archive.run()
        content = await archive.store.get((await archive.names("manifest/"))[0])
        assert b'"vector": {\n  "board.status": 4\n }' in content

    asyncio.run(scenario())
