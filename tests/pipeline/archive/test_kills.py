"""A run, a compaction and a restoration may die anywhere: in the end every record is there once."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.archive.compaction import compact
from callboard.archive.reader import ArchiveReader
from callboard.archive.restoration import restore
from callboard.archive.stores.folder import FolderArchiveStore
from callboard.archive.vacuum import vacuum
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog

DAY_NS = 24 * 3600 * 10**9
DYING = Path(__file__).with_name("dying_archiver.py")
DIED = 9


def dies_at(step: int, log: Path, archive: Path) -> bool:
    command = [sys.executable, str(DYING), str(log), str(archive), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, DIED), done.stderr
    return done.returncode == DIED


def test_a_process_killed_at_any_step_loses_and_duplicates_nothing(archive, tmp_path):
    """Each process continues where the one before died, until a chain of killed processes has done all of it."""
    folder = tmp_path / "log"

    async def prepare() -> list:
        archive.log = SqliteLog(folder)
        await archive.fill(15)
        records = await archive.on_log()
        await archive.log.close()
        return records

    async def read() -> list:
        found = await ArchiveReader(archive.store).topic(archive.topic)
        return await archive.archived() if found else []

    truth = asyncio.run(prepare())
    step, deaths = 0, 0
    while dies_at(step, folder, tmp_path / "archive"):
        deaths += 1
        there = asyncio.run(read())
        assert there == truth[: len(there)]
        step += 1
    assert deaths > 10
    assert asyncio.run(read()) == truth


def test_only_files_of_dead_runs_are_vacuumed_and_only_after_a_day(archive, killing, killed):
    async def scenario() -> None:
        await archive.fill(25)
        for step in range(1, 100):
            store = killing(archive.store, step)
            try:
                await archive.run(store=store)
            except killed:
                pass
            else:
                break
        orphans = len(await archive.names("segment/")) - 3
        assert orphans > 0
        stored_ns = [stored.stored_ns async for stored in archive.store.list("")]
        assert (await vacuum(archive.store, archive.topic, min(stored_ns) + DAY_NS)).files == 0
        assert (await vacuum(archive.store, archive.topic, max(stored_ns) + DAY_NS + 1)).files == orphans
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


def test_a_compaction_killed_at_any_step_changes_nothing_for_readers(archive, killing, killed):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()
        truth = await archive.on_log()
        for step in range(1, 100):
            try:
                await compact(killing(archive.store, step), archive.topic, lambda: archive.now_ns, archive.unique)
            except killed:
                assert await archive.archived() == truth
            else:
                break
        else:
            pytest.fail("it never came to its end")
        assert len((await ArchiveReader(archive.store).topic(archive.topic)).files) == 1
        assert await archive.archived() == truth
        await archive.fill(5)
        await archive.run()
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())


@pytest.mark.parametrize("same_identity", [False, True])
def test_a_restoration_killed_at_any_step_can_be_continued(archive, killing, killed, same_identity):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()
        log = MemoryLog()
        for step in range(1, 100):
            try:
                async for _ in restore(killing(archive.store, step), log, archive.topic, same_identity=same_identity):
                    pass
            except killed:
                there = await archive.on_log(log)
                assert there == (await archive.on_log())[: len(there)]
            else:
                break
        else:
            pytest.fail("it never came to its end")
        assert await archive.on_log(log) == await archive.on_log()

    asyncio.run(scenario())


def test_a_folder_that_cannot_be_written_is_left_as_it_was(archive, tmp_path, monkeypatch):
    """An archive on a full disk: the file that was begun is gone, and the run can be repeated."""

    async def scenario() -> None:
        await archive.fill(5)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            with pytest.raises(Exception, match="free space"):
                await archive.run()
        assert await archive.names() == []
        await archive.run()
        assert await archive.archived() == await archive.on_log()

    asyncio.run(scenario())
    assert isinstance(archive.store, FolderArchiveStore)
