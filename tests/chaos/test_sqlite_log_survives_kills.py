"""The SQLite log under real processes: killed at any moment, in numbers, forked."""

import asyncio
import os
import random
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from callboard.backends.log import Log
from callboard.backends.logs.sqlite import SqliteLog, log, watch
from callboard.messages.record import NewRecord, Record

HERE = Path(__file__).parent
DEADLINE_S = 60.0
TOPIC = "package"

WRITERS = 4
KILLS = 30


async def start(script: str, *arguments: object) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, HERE / script, *map(str, arguments), stdin=PIPE, stdout=PIPE
    )


async def line_of(process: Process) -> list[str]:
    """The next complete line, as words; empty when the process has ended."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    return line.decode().split() if line.endswith(b"\n") else []


async def let_go(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    await process.stdin.drain()


async def end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.communicate()


async def read_all(log: Log) -> list[Record]:
    start, found = (await log.bounds(TOPIC)).first, list[Record]()
    while records := await log.read(TOPIC, start):
        found += records
        start = records[-1].offset + 1
    return found


class KilledWriter:
    """A writer that continues after each kill with the number after the last acknowledged one."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.acknowledged: dict[int, str] = {}
        self.next = 0
        self.killed = set[int]()
        self.alive: Process | None = None

    def kill(self) -> None:
        if self.alive is not None:
            self.alive.kill()
            self.killed.add(self.alive.pid)
        self.alive = None

    async def run(self) -> None:
        while True:
            began = self.next
            process = await start("log_writer.py", self.folder, self.name, began)
            try:
                await line_of(process)
                await let_go(process)
                while words := await line_of(process):
                    number, *offsets = map(int, words)
                    self.acknowledged |= {offset: f"{self.name} {number} {part}" for part, offset in enumerate(offsets)}
                    self.next = number + 1
                    if process.pid not in self.killed and number >= began + 2:
                        self.alive = process
            finally:
                self.alive = None
                await end(process)


async def follow(folder: Path, seen: list[int]) -> None:
    reader = SqliteLog(folder)
    await reader.ensure(TOPIC)
    start = (await reader.bounds(TOPIC)).first
    try:
        while True:
            await reader.wait(TOPIC, start, 1)
            seen += [record.offset for record in await reader.read(TOPIC, start)]
            start = seen[-1] + 1 if seen else start
    finally:
        await reader.close()


async def kill_at_random(writers: list[KilledWriter]) -> None:
    dice = random.Random(7)
    while sum(len(writer.killed) for writer in writers) < KILLS:
        while not (at_work := [writer for writer in writers if writer.alive]):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await asyncio.sleep(dice.uniform(0, 0.02))
        dice.choice(at_work).kill()


@pytest.mark.proves("F1", "F2")
def test_nothing_acknowledged_is_lost_and_no_key_is_stored_twice(tmp_path: Path) -> None:
    folder = tmp_path / "board.db"
    writers = [KilledWriter(folder, f"w{number}") for number in range(WRITERS)]
    seen: list[int] = []

    async def scenario() -> list[Record]:
        running = [asyncio.ensure_future(writer.run()) for writer in writers]
        running.append(asyncio.ensure_future(follow(folder, seen)))
        async with asyncio.timeout(DEADLINE_S):
            await kill_at_random(writers)
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            assert isinstance(outcome, asyncio.CancelledError)
        log = SqliteLog(folder)
        try:
            return await read_all(log)
        finally:
            await log.close()

    records = asyncio.run(scenario())
    stored = {record.offset: record.payload.decode() for record in records}
    texts = list(stored.values())
    assert len(set(texts)) == len(texts)
    assert seen == sorted(set(seen))
    for writer in writers:
        assert writer.acknowledged.items() <= stored.items()
        mine = [text for text in texts if text.startswith(f"{writer.name} ")]
        assert mine == [f"{writer.name} {number // 2} {number % 2}" for number in range(len(mine))]
    with sqlite3.connect(folder / f"{TOPIC}.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_ten_writing_processes_get_fair_shares(tmp_path: Path) -> None:
    async def scenario() -> list[Record]:
        writers = await asyncio.gather(*(start("log_writer.py", tmp_path, f"w{n}", 0) for n in range(10)))
        log = SqliteLog(tmp_path)
        try:
            async with asyncio.timeout(DEADLINE_S):
                for writer in writers:
                    assert await line_of(writer) == ["ready"]
                for writer in writers:
                    await let_go(writer)
                while (await log.bounds(TOPIC)).end < 3000:
                    await log.wait(TOPIC, (await log.bounds(TOPIC)).end, 1)
        finally:
            await asyncio.gather(*map(end, writers))
        records = await read_all(log)
        await log.close()
        return records

    # from when the last of them has begun, so that only the turns decide
    names = [record.payload.decode().split()[0] for record in asyncio.run(scenario())]
    last_to_begin = max(names.index(name) for name in set(names))
    shares = Counter(names[last_to_begin:])
    assert len(shares) == 10
    assert min(shares.values()) >= max(shares.values()) / 4


def test_a_forked_child_neither_uses_the_log_nor_holds_its_lock(tmp_path: Path) -> None:
    async def scenario() -> None:
        holder = await start("log_holder.py", tmp_path)
        problem, child = await line_of(holder)
        try:
            await holder.wait()
            log = SqliteLog(tmp_path)
            async with asyncio.timeout(DEADLINE_S):
                await log.append(TOPIC, [NewRecord(payload=b"after the parent's death")])
            assert len(await read_all(log)) == 2
            await log.close()
        finally:
            os.kill(int(child), signal.SIGKILL)
            await holder.communicate()
        assert problem == "ConfigError"

    asyncio.run(scenario())


@pytest.mark.parametrize("inotify", [True, False])
def test_a_second_process_wakes_the_first(inotify: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "RECHECK_S", DEADLINE_S)  # so that only the bell can have woken us
    if not inotify:
        monkeypatch.setattr(watch._Inotify, "open", classmethod(lambda _: None))

    async def scenario() -> None:
        reader = SqliteLog(tmp_path)
        await reader.ensure(TOPIC)
        writer = await start("log_writer.py", tmp_path, "w", 0)
        try:
            assert await line_of(writer) == ["ready"]
            waiting = asyncio.ensure_future(reader.wait(TOPIC, 1, DEADLINE_S))
            assert not await reader.wait(TOPIC, 1, 0.1)
            await let_go(writer)
            async with asyncio.timeout(DEADLINE_S / 2):
                assert await waiting
        finally:
            await end(writer)
            await reader.close()

    asyncio.run(scenario())
