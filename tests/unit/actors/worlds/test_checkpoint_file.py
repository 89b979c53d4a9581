import asyncio
import os
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.queue import Wanted
from callboard.actors.publisher.queues.summary import summarise
from callboard.actors.worlds import checkpoint_file
from callboard.actors.worlds.checkpoint_file import CheckpointFile
from callboard.backends.log import Retention
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.distribution.queue_mail import PackagesSeen
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

R = TypeVar("R")
T = "packages"
QUEUES = [Wanted(publisher, after, to) for publisher in ("", "a") for after in (-1, 5) for to in ("", "x", "y")]


def package(number: int, *recipients: str) -> NewRecord:
    message = PackageMessage(
        publisher_instance="i", publisher="ab"[number % 2], package_id=f"p{number}", kind=Kind.ADD, length=number,
        recipients=recipients,
    )  # fmt: skip
    return new_record(message, record_id=f"p{number}", time_ns=1, producer="test")


class Stage:
    """A log, and what is done to its checkpoint, one call at a time."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self.log, self._runner = SqliteLog(folder), runner
        self.do(self.log.ensure(T))
        self.append(*(package(number, *("xy" if number == 3 else "")) for number in range(9)))
        self.append(NewRecord(payload=b"\xff"))
        self.append(package(9))
        self.log_id = self.do(self.log.identity(T))

    def do(self, call: Coroutine[Any, Any, R]) -> R:
        return self._runner.run(call)

    def append(self, *records: NewRecord) -> None:
        self.do(self.log.append(T, records))

    def trim(self, below: int) -> None:
        self.do(self.log.trim(T, Retention(below_offset=below)))

    def index(self, start: int = 0) -> PackageIndex:
        """The index of the log as it is, from an offset on."""
        first, end = self.do(self.log.bounds(T))
        packages = tuple(map(summarise, self.do(self.log.read(T, max(start, first)))))
        index = PackageIndex(self.log_id, start)
        index.add(PackagesSeen(log_id=self.log_id, start=start, stop=end, packages=packages))
        return index

    def save(self, path: Path | None, index: PackageIndex | None = None) -> str:
        return self.do(CheckpointFile(self.log, path).save(T, index or self.index()))

    def load(self, path: Path | None, log_id: str = "") -> PackageIndex | None:
        return self.do(CheckpointFile(self.log, path).load(T, log_id or self.log_id))


def of_kind_test() -> NewRecord:
    message = PackageMessage(publisher_instance="i", publisher="a", package_id="t", kind=Kind.TEST)
    return new_record(message, record_id="t", time_ns=1, producer="test")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    (tmp_path / "log").mkdir(mode=0o750)
    with asyncio.Runner() as runner:
        it = Stage(tmp_path / "log", runner)
        yield it
        it.do(it.log.close())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log" / f"{T}.index"


def answers(index: PackageIndex | None) -> list[tuple[object, ...]]:
    assert index is not None
    queues = [index.queue(wanted) for wanted in QUEUES]
    return [(it.size, it.length, it.oldest_ns, it.newest, it.page(0, 100)) for it in queues]


def test_an_index_that_was_saved_gives_the_same_answers(stage: Stage, path: Path) -> None:
    index = stage.index()
    assert stage.save(path, index.copy()) == ""
    found = stage.load(path)
    assert answers(found) == answers(index)
    assert found is not None
    assert (found.stop, found.newest_id, found.publishers) == (index.stop, "p9", ("a", "b"))
    assert [entry.name for entry in path.parent.glob("*index*")] == [path.name]


def test_those_who_may_read_the_folder_may_read_the_checkpoint(stage: Stage, path: Path, tmp_path: Path) -> None:
    stage.save(path)
    cached = tmp_path / "caches" / "callboard" / "it"
    stage.save(cached)
    modes = [it.stat().st_mode & 0o777 for it in (path, cached.parent, cached)]
    assert modes == [0o640, 0o700, 0o600]


def test_a_damaged_file_is_as_none(stage: Stage, path: Path) -> None:
    stage.save(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert stage.load(path) is None
        path.write_bytes(whole[:place])
        assert stage.load(path) is None
    path.write_bytes(whole + b"\0")
    assert stage.load(path) is None
    path.unlink()
    path.symlink_to(path.parent / "elsewhere")
    (path.parent / "elsewhere").write_bytes(whole)
    assert stage.load(path) is None


def test_a_file_of_another_version_is_as_none(stage: Stage, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(checkpoint_file, "MADE_BY", b"queues as counted by callboard 9.0\n")
        stage.save(path)
    assert stage.load(path) is None


def test_in_a_folder_for_all_users_only_an_own_file_is_trusted(
    stage: Stage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.save(path)
    monkeypatch.setattr(checkpoint_file.os, "geteuid", lambda: os.getuid() + 1)
    assert stage.load(path) is not None
    path.parent.chmod(0o1777)
    assert stage.load(path) is None


def test_a_trimmed_log_has_no_trimmed_packages_in_its_checkpoint(stage: Stage, path: Path) -> None:
    stage.save(path)
    stage.trim(5)
    found = stage.load(path)
    assert answers(found) == answers(stage.index())
    assert found is not None
    assert found.start == 0, "there is nothing older to count"
    stage.trim(100)
    assert stage.load(path) is None


def test_a_log_with_another_identity_or_package_has_no_checkpoint(
    stage: Stage, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = stage.index()
    for change in ({"log_id": "another"}, {"newest_id": "p8"}):
        other = index.copy()
        for name, value in change.items():
            setattr(other, name, value)
        checkpoint_file._write(path, other)
        assert stage.load(path, other.log_id) is None, change
    checkpoint_file._write(path, index)
    assert stage.load(path) is not None


def test_a_checkpoint_ends_with_its_newest_package(stage: Stage, path: Path) -> None:
    stage.append(package(10), replace(package(11), payload=b""), of_kind_test())
    stage.save(path)
    found = stage.load(path)
    assert found is not None
    assert (found.stop, stage.index().stop) == (14, 15), "what a copy of the log has at 14 is not known"


def test_saving_keeps_what_another_process_knew_of_older_packages(stage: Stage, path: Path) -> None:
    whole = stage.index()
    older = whole.copy().split(8)
    older.newest_id = "p6"
    assert stage.save(path, older) == ""
    assert stage.save(path, stage.index(7)) == ""
    assert answers(stage.load(path)) == answers(whole)


def test_a_file_that_cannot_be_written_is_a_reason_and_no_error(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    problem = stage.save(tmp_path / "file" / "it")
    assert "cannot be written" in problem
    assert "no checkpoint" in stage.save(None)
    assert stage.load(None) is None
