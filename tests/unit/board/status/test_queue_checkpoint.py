import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.worlds.checkpoint_file import CheckpointFile
from callboard.backends.logs.sqlite import SqliteLog
from callboard.board.connect.opening import checkpoint_place
from callboard.board.connect.settings import BoardSettings
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

COUNT = 5_200
"""Packages, and those that are worth a checkpoint."""


def package(number: int) -> NewRecord:
    message = PackageMessage(
        publisher_instance="i", publisher="site", package_id=f"p{number}", kind=Kind.ADD, paths=("/a",), length=7
    )
    return new_record(message, record_id=f"p{number}", time_ns=1, producer="test")


async def append(folder: Path, start: int, stop: int) -> None:
    log = SqliteLog(folder)
    await log.ensure("callboard.package")
    await log.append("callboard.package", [package(number) for number in range(start, stop)])
    await log.close()


async def counted(folder: Path) -> int:
    async with Callboard(f"sqlite:///{folder}") as board:
        return await board.publisher("site").packages()


@pytest.mark.proves("F34", "W37")
def test_a_new_process_knows_the_packages_that_an_earlier_one_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[PackageIndex | None] = []
    load = CheckpointFile.load

    async def watched(*args: Any) -> PackageIndex | None:
        found.append(await load(*args))
        return found[-1]

    monkeypatch.setattr(CheckpointFile, "load", watched)
    place = tmp_path / "callboard.package.index"
    asyncio.run(append(tmp_path, 0, COUNT))
    assert asyncio.run(counted(tmp_path)) == COUNT
    assert place.exists()
    found.clear()
    asyncio.run(append(tmp_path, COUNT, COUNT + 5))
    assert asyncio.run(counted(tmp_path)) == COUNT + 5
    assert [index.stop for index in found if index is not None] == [COUNT + 1]
    place.write_bytes(place.read_bytes()[:-1])
    assert asyncio.run(counted(tmp_path)) == COUNT + 5, "a damaged checkpoint is as none"


def test_few_packages_are_not_worth_a_checkpoint(tmp_path: Path) -> None:
    asyncio.run(append(tmp_path, 0, 10))
    assert asyncio.run(counted(tmp_path)) == 10
    assert not list(tmp_path.glob("*.index*"))


def test_the_checkpoint_is_beside_the_log_or_among_the_users_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(log: str) -> Path | None:
        return checkpoint_place(BoardSettings(log, base=tmp_path))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert place("sqlite:///board") == tmp_path / "board" / "callboard.package.index"
    assert place("memory:") is None
    server = place("postgresql://ann:secret@db/board")
    assert server is not None
    assert server.parent == tmp_path / "caches" / "callboard"
    assert server == place("postgresql://ann:changed@db/board")
    assert server != place("postgresql://ann:secret@db/other")
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert place("kafka://host:9092") is None, "a relative path there is to be ignored"
