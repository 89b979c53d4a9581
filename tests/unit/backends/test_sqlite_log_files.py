"""What the SQLite log makes of the files it finds, and what it leaves."""

import asyncio
import errno
import gc
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from callboard.backends.log import Retention
from callboard.backends.logs.sqlite import SqliteLog, retention, schema
from callboard.errors import ConfigError, LogReplaced, LogUnavailable, SchemaTooNew, TopicMissing
from callboard.messages.record import NewRecord

TOPIC = "package"


def numbered(count: int, size: int = 1) -> list[NewRecord]:
    return [NewRecord(payload=bytes(size), key=str(number)) for number in range(count)]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SqliteLog]:
    log = SqliteLog(folder)
    try:
        await log.ensure(TOPIC)
        yield log
    finally:
        await log.close()


def test_nothing_is_touched_before_the_first_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = SqliteLog(tmp_path / "board.db")
        with pytest.raises(TopicMissing):
            await log.read(TOPIC, 1)
        await log.close()

    asyncio.run(scenario())
    assert list(tmp_path.iterdir()) == []


def test_a_closed_log_leaves_no_write_ahead_files(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            await log.append(TOPIC, numbered(3))
            await log.read(TOPIC, 1)

    asyncio.run(scenario())
    assert {path.name for path in tmp_path.iterdir()} == {"package.db", "package.lock", "package.bell"}


def test_a_restored_older_copy_is_another_log_with_higher_offsets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "board") as log:
            await log.append(TOPIC, numbered(10))
            identity = await log.identity(TOPIC)
        shutil.copy(tmp_path / "board" / "package.db", tmp_path / "copy")
        async with opened(tmp_path / "board") as log:
            await log.append(TOPIC, [NewRecord(payload=b"after the copy")] * 5)
            end = (await log.bounds(TOPIC)).end
            assert await log.identity(TOPIC) == identity
        shutil.copy(tmp_path / "copy", tmp_path / "board" / "package.db")
        log = SqliteLog(tmp_path / "board")  # a reader notices, too
        assert await log.identity(TOPIC) != identity
        assert await log.bounds(TOPIC) == (1, end)
        assert len(await log.read(TOPIC, 1)) == 10
        assert await log.append(TOPIC, [NewRecord(payload=b"on")]) == [end]
        await log.close()

    asyncio.run(scenario())


def test_a_recreated_topic_is_another_log_with_higher_offsets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            await log.append(TOPIC, numbered(10))
            identity = await log.identity(TOPIC)
        (tmp_path / "package.db").unlink()
        async with opened(tmp_path) as log:
            assert await log.identity(TOPIC) != identity
            assert await log.append(TOPIC, numbered(1)) == [11]

    asyncio.run(scenario())


def test_a_file_that_was_emptied_is_not_taken_for_a_new_topic(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            await log.append(TOPIC, numbered(10))
        (tmp_path / "package.db").write_bytes(b"")
        log = SqliteLog(tmp_path)
        with pytest.raises(LogUnavailable, match=r"empty although .* offset 10; .* restore a copy"):
            await log.ensure(TOPIC)
        (tmp_path / "package.db").unlink()  # the advice
        await log.ensure(TOPIC)
        assert await log.append(TOPIC, numbered(1)) == [11]
        await log.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["package.db", "package.db-wal"])
def test_a_file_exchanged_under_a_running_board_is_noticed(name: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            await log.append(TOPIC, numbered(3))
            shutil.copy(tmp_path / name, tmp_path / "copy")
            (tmp_path / "copy").replace(tmp_path / name)
            for _ in range(2):
                with pytest.raises(LogReplaced, match="was replaced while in use; stop every process"):
                    await log.append(TOPIC, numbered(1))
                with pytest.raises(LogReplaced, match="was replaced while in use; stop every process"):
                    await log.read(TOPIC, 1)

    asyncio.run(scenario())


def test_a_file_that_was_moved_away_is_used_again_when_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path / "log") as log:
            await log.append(TOPIC, numbered(3))
            (tmp_path / "log").rename(tmp_path / "away")
            with pytest.raises(LogUnavailable, match="was removed while in use; put it back"):
                await log.append(TOPIC, numbered(1))
            with pytest.raises(LogUnavailable, match="was removed while in use; put it back"):
                await log.read(TOPIC, 1)
            (tmp_path / "away").rename(tmp_path / "log")
            assert await log.append(TOPIC, numbered(4)) == [1, 2, 3, 4]
            assert len(await log.read(TOPIC, 1)) == 4

    asyncio.run(scenario())


def test_a_half_created_topic_is_completed_after_a_kill(tmp_path: Path) -> None:
    board = tmp_path / "board"
    board.mkdir()
    creator = sqlite3.connect(tmp_path / "half.db", isolation_level=None)
    creator.execute("PRAGMA cache_size=2")  # so that the transaction reaches the file before its end
    creator.execute("BEGIN")
    creator.execute("CREATE TABLE half_made(content)")
    creator.executemany("INSERT INTO half_made VALUES(?)", [(bytes(4000),)] * 20)
    for name in ("half.db", "half.db-journal"):  # as a kill leaves them
        shutil.copy(tmp_path / name, board / name.replace("half", TOPIC))
    creator.close()
    assert (board / "package.db").stat().st_size > 0

    async def scenario() -> None:
        async with opened(board) as log:
            assert await log.append(TOPIC, numbered(1)) == [1]

    asyncio.run(scenario())


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            await log.append(TOPIC, numbered(3))
        with sqlite3.connect(tmp_path / "package.db") as db:
            db.execute("PRAGMA user_version=9")
        db.close()
        before = (tmp_path / "package.db").read_bytes()
        log = SqliteLog(tmp_path)
        for call in (log.ensure(TOPIC), log.append(TOPIC, numbered(1)), log.read(TOPIC, 1)):
            with pytest.raises(SchemaTooNew, match=r"schema 9 .* upgrade callboard"):
                await call
        await log.close()
        assert (tmp_path / "package.db").read_bytes() == before

    asyncio.run(scenario())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_of_other_programs_are_refused_and_left_alone(tmp_path: Path) -> None:
    def other_database(path: Path) -> None:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE theirs(x)")
        db.close()

    async def scenario() -> None:
        other_database(tmp_path / "package.db")
        (tmp_path / "status.db").write_bytes(b"a letter, not a database" * 100)
        (tmp_path / "file").touch()
        before = contents(tmp_path)
        log = SqliteLog(tmp_path)
        for topic in ("package", "status"):
            with pytest.raises(ConfigError, match=r"is not a log of callboard"):
                await log.ensure(topic)
        await log.close()
        log = SqliteLog(tmp_path / "file")
        with pytest.raises(ConfigError, match=r"needs a folder.*is a file"):
            await log.ensure(TOPIC)
        await log.close()
        assert before.items() <= contents(tmp_path).items()

    asyncio.run(scenario())


def test_a_full_disk_is_a_temporary_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            with monkeypatch.context() as patch:
                patch.setattr(schema, "PRAGMAS", (*schema.PRAGMAS, "max_page_count=20"))
                with pytest.raises(LogUnavailable, match=r"package\.db.*free some space.*same keys"):
                    await log.append(TOPIC, numbered(10, size=100_000))
            assert await log.append(TOPIC, numbered(10, size=100_000)) == list(range(1, 11))

    asyncio.run(scenario())


def test_a_bell_file_that_cannot_be_written_stops_no_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)

    async def scenario() -> None:
        async with opened(tmp_path) as log, asyncio.timeout(60):
            assert await log.append(TOPIC, numbered(1)) == [1]
            waiting = asyncio.ensure_future(log.wait(TOPIC, 2, 10))
            assert await log.append(TOPIC, [NewRecord(payload=b"unheard")]) == [2]
            assert await waiting

    asyncio.run(scenario())


def test_text_that_cannot_be_stored_fails_only_its_own_append(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as log:
            outcomes = await asyncio.gather(
                log.append(TOPIC, numbered(1)),
                log.append(TOPIC, [NewRecord(payload=b"", key="\ud800")]),
                log.append(TOPIC, [NewRecord(payload=b"", headers=(("name", "\ud800"),))]),
                log.append(TOPIC, [NewRecord(payload=b"", headers=(("name", "nul \0"),))]),
                return_exceptions=True,
            )
            assert outcomes[0] == [1]
            assert all(isinstance(outcome, ValueError) for outcome in outcomes[1:])
            assert (await log.bounds(TOPIC)).end == 2

    asyncio.run(scenario())


def test_an_append_fails_and_does_not_hang_if_the_lock_cannot_be_opened(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path):
            pass
        (tmp_path / "package.lock").unlink()
        (tmp_path / "package.lock").mkdir()
        log = SqliteLog(tmp_path)
        with pytest.raises(LogUnavailable, match=r"package\.lock.*check the file"):
            await log.append(TOPIC, numbered(1))
        await log.close()

    asyncio.run(scenario())


def test_a_trim_shrinks_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SPARE_PAGES", 100)

    async def scenario() -> None:
        async with opened(tmp_path) as log:
            await log.append(TOPIC, numbered(40, size=100_000))
        large = (tmp_path / "package.db").stat().st_size
        async with opened(tmp_path) as log:
            await log.trim(TOPIC, Retention(below_offset=40))
        assert large > 4_000_000
        assert (tmp_path / "package.db").stat().st_size < 1_000_000

    asyncio.run(scenario())


def test_all_logs_of_an_event_loop_share_one_inotify_instance(tmp_path: Path) -> None:
    def instances() -> int:
        links = []
        for fd in Path("/proc/self/fd").iterdir():
            try:
                links.append(fd.readlink().name)
            except FileNotFoundError:
                continue  # the descriptor of this very listing
        return sum("inotify" in link for link in links)

    async def scenario() -> None:
        before = instances()
        logs = [SqliteLog(tmp_path / f"board{number % 2}") for number in range(4)]
        for log in logs:
            await log.ensure(TOPIC)
            assert not await log.wait(TOPIC, 1, 0)
        assert instances() == before + 1
        waits = [asyncio.ensure_future(log.wait(TOPIC, 1, 30)) for log in logs]
        await asyncio.sleep(0)
        await logs[1].close()  # leaves the others listening to the same bells
        await logs[0].append(TOPIC, numbered(1))
        await logs[3].append(TOPIC, numbered(1))
        assert await asyncio.gather(*waits) == [True, False, True, True]
        for log in logs:
            await log.close()
        assert instances() == before

    asyncio.run(scenario())


def test_a_log_that_is_closed_while_a_topic_is_opened_complains_to_nobody(tmp_path: Path) -> None:
    complaints = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        log = SqliteLog(tmp_path)
        async with log._opening:
            reading = asyncio.ensure_future(log.read(TOPIC, 1))
            await asyncio.sleep(0)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            closing = asyncio.ensure_future(log.close())
            await asyncio.sleep(0)
        await closing

    asyncio.run(scenario())
    gc.collect()
    assert complaints == []
