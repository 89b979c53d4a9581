"""Other users of the host read files, lock files that they may read, and create predictable names first."""

import asyncio
import fcntl
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.local import file_locks, private_folder
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.board.connect.opening import subscriber_spool
from callboard.errors import BlobUnavailable, LogUnavailable, RepositoryBusy, RepositoryUnavailable
from callboard.messages.record import NewRecord
from callboard.testing.conformance.repository.harness import file

TOPIC = "package"
HOLDER = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 0", "umask 22", "umask 77"])
def _any_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Another process has the file locked; which."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder.pid
        assert holder.stdin is not None
        holder.stdin.close()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def used(folder: Path) -> dict[str, int]:
    """The modes of a log's files while it is in use."""
    log = SqliteLog(folder)
    await log.ensure(TOPIC)
    await log.append(TOPIC, [NewRecord(payload=b"x")])
    found = modes(folder)
    await log.close()
    return found


@pytest.mark.usefixtures("_any_umask")
def test_only_its_user_may_open_a_log_under_any_umask(tmp_path: Path) -> None:
    found = asyncio.run(used(tmp_path / "board.db"))
    assert set(found.values()) == {0o600}
    assert {"package.db", "package.db-wal", "package.db-shm", "package.lock", "package.bell"} == found.keys()
    assert stat.S_IMODE((tmp_path / "board.db").stat().st_mode) == 0o700


@pytest.mark.usefixtures("_any_umask")
@pytest.mark.parametrize(
    ("folder", "data", "lock"),
    [(0o2770, 0o660, 0o660), (0o750, 0o640, 0o600), (0o755, 0o644, 0o600), (0o1777, 0o600, 0o600)],
)
def test_a_log_is_open_to_those_who_may_use_its_folder(folder: int, data: int, lock: int, tmp_path: Path) -> None:
    asyncio.run(used(tmp_path / "board.db"))
    (tmp_path / "board.db").chmod(folder)  # also after it was made
    found = asyncio.run(used(tmp_path / "board.db"))
    assert found.pop("package.lock") == lock
    assert set(found.values()) == {data}


@pytest.mark.usefixtures("_any_umask")
def test_only_their_user_may_open_the_own_files_of_repositories_and_blob_stores(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "content")
    store.open()
    store.save(b"ledger")
    store.save(b"draft", durable=False)
    store.close()
    own = tmp_path / "content/.callboard"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert {mode & 0o077 for mode in modes(own).values()} == {0}

    async def put() -> None:
        blobs = FolderBlobStore(tmp_path / "blobs")
        for _ in range(2):
            with suppress(Exception):
                await blobs.put("ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73", [b"content"])
        await blobs.close()

    asyncio.run(put())
    assert {mode & 0o077 for mode in modes(tmp_path / "blobs").values()} == {0}
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_publishing_names_the_process_that_keeps_the_lock_and_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_locks, "WAIT_S", 0.2)
    records = [NewRecord(payload=b"x")]

    async def scenario() -> None:
        log, other = SqliteLog(tmp_path), SqliteLog(tmp_path)
        await log.ensure(TOPIC)
        await log.append(TOPIC, records)
        with held(tmp_path / "package.lock") as process:
            appends = [asyncio.ensure_future(log.append(TOPIC, records)) for _ in range(20)]
            appends.append(asyncio.ensure_future(other.append(TOPIC, records)))
            outcomes = await asyncio.gather(*appends, return_exceptions=True)
            assert all(isinstance(outcome, LogUnavailable) for outcome in outcomes)
            assert all(f"process {process} keeps" in str(outcome) for outcome in outcomes)
            third = SqliteLog(tmp_path)
            with pytest.raises(LogUnavailable, match=r"kill -CONT .* Nothing was written"):
                await third.ensure(TOPIC)
            await third.close()
            assert len(await log.read(TOPIC, 1)) == 1, "reading still works"
        assert await log.append(TOPIC, records) == [2], "and so does publishing, without what was refused"
        await other.close()
        await log.close()

    asyncio.run(scenario())


def test_a_log_can_be_closed_while_another_process_keeps_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_locks, "WAIT_S", 0.2)

    async def scenario() -> None:
        log = SqliteLog(tmp_path)
        await log.ensure(TOPIC)
        await log.append(TOPIC, [NewRecord(payload=b"x")])
        with held(tmp_path / "package.lock"):
            await log.close()
        log = SqliteLog(tmp_path)
        await log.ensure(TOPIC)
        assert await log.append(TOPIC, [NewRecord(payload=b"y")]) == [2]
        await log.close()

    asyncio.run(scenario())


def test_a_cancelled_waiter_does_not_get_the_lock_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_locks, "WAIT_S", 0.1)
    path = tmp_path / "lock"
    path.touch()
    lock = file_locks.QueuedLock(os.open(path, os.O_RDWR))
    with held(path):
        assert not lock.acquire()
        assert not lock.acquire()
    monkeypatch.setattr(file_locks, "WAIT_S", 30)
    with path.open() as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)  # not kept by the one who gave up
    assert lock.acquire()
    with path.open() as mine, pytest.raises(BlockingIOError):
        fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.release()
    lock.close()


def test_a_locked_blob_store_names_the_process_that_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_locks, "WAIT_S", 0.2)
    digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"

    async def scenario() -> None:
        blobs = FolderBlobStore(tmp_path)
        assert await blobs.put(digest, [b"content"])
        assert not await blobs.put(digest, [b"content"])
        with held(tmp_path / ".lock") as process, pytest.raises(BlobUnavailable, match=f"process {process} keeps"):
            await blobs.put(digest, [b"content"])
        await blobs.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "bell",
    [
        struct.pack("<Q", (1 << 63) - 1),
        struct.pack("<Q", 1000),
        struct.pack("<Q16s", (1 << 63) - 1, bytes(16)),
        struct.pack("<Q16s", 1000, bytes(16)),
        b"\xff" * 4096,
        b"",
    ],
)
def test_a_forged_bell_file_neither_stops_a_log_nor_changes_its_identity(bell: bytes, tmp_path: Path) -> None:
    async def scenario() -> None:
        log = SqliteLog(tmp_path)
        await log.ensure(TOPIC)
        assert await log.append(TOPIC, [NewRecord(payload=b"x")] * 3) == [1, 2, 3]
        identity = await log.identity(TOPIC)
        (tmp_path / "package.bell").write_bytes(bell)
        assert await log.append(TOPIC, [NewRecord(payload=b"x")]) == [4]
        (tmp_path / "package.bell").write_bytes(bell)
        await log.close()
        log = SqliteLog(tmp_path)
        assert await log.identity(TOPIC) == identity
        await log.ensure(TOPIC)
        assert await log.append(TOPIC, [NewRecord(payload=b"x")]) == [5]
        assert await log.identity(TOPIC) == identity
        await log.close()

    asyncio.run(scenario())


def test_a_bell_file_from_before_the_log_does_not_use_up_its_offsets(tmp_path: Path) -> None:
    (tmp_path / "package.bell").write_bytes(struct.pack("<Q16s", (1 << 63) - 1, bytes(16)))

    async def scenario() -> None:
        log = SqliteLog(tmp_path)
        await log.ensure(TOPIC)
        assert await log.append(TOPIC, [NewRecord(payload=b"x")]) == [1]
        await log.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["package.bell", "package.lock"])
def test_a_link_in_place_of_a_file_of_the_log_is_not_written_through(name: str, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"outside")
    (tmp_path / "board.db").mkdir()
    (tmp_path / "board.db" / name).symlink_to(tmp_path / "outside")

    async def scenario() -> None:
        log = SqliteLog(tmp_path / "board.db")
        with pytest.raises(LogUnavailable):
            await log.ensure(TOPIC)
        await log.close()

    asyncio.run(scenario())
    assert (tmp_path / "outside").read_bytes() == b"outside"


def test_the_spool_is_always_a_new_private_folder(tmp_path: Path) -> None:
    prefix = tmp_path / subscriber_spool("edge-1", "out", tmp_path).name
    prefix.mkdir(mode=0o777)
    (tmp_path / f"{prefix.name}-hook").mkdir(mode=0o777)
    first, second = private_folder.make(prefix), private_folder.make(prefix)
    assert first != second
    assert {path.stat().st_mode & 0o7777 for path in (first, second)} == {0o700}
    (first / "left").touch()
    (tmp_path / f"{prefix.name}-link").symlink_to(tempfile.gettempdir())
    private_folder.remove_left(prefix)
    assert not first.exists()
    assert (tmp_path / f"{prefix.name}-link").is_symlink()
    assert prefix.is_dir()


def two_paths(tmp_path: Path, kind: str) -> tuple[Path, Path]:
    real = tmp_path / "real.db"
    other = tmp_path / "folder/../other.db"
    (tmp_path / "folder").mkdir()
    if kind == "link":
        other.symlink_to(real)
    elif kind == "link to the folder":
        (tmp_path / "alias").symlink_to(tmp_path)
        other = tmp_path / "alias/real.db"
    return real, other


@pytest.mark.parametrize("kind", ["link", "link to the folder"])
def test_a_sqlite_repository_is_the_same_by_either_of_two_paths(kind: str, tmp_path: Path) -> None:
    real, other = two_paths(tmp_path, kind)
    first, second = SqliteStore(other), SqliteStore(real)
    first.open()
    with pytest.raises(RepositoryBusy, match=f"is open in process {os.getpid()}"):
        second.open()
    first.apply([file("/a", "x")], b"ledger")
    first.close()
    assert second.open() == b"ledger"
    second.close()


def test_a_sqlite_repository_with_a_hard_link_is_refused_under_both_names(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "real.db")
    store.open()
    store.apply([file("/a", "x")], b"ledger")
    store.close()
    os.link(tmp_path / "real.db", tmp_path / "other.db")
    for name in ("real.db", "other.db"):
        with pytest.raises(RepositoryUnavailable, match="has 2 names"):
            SqliteStore(tmp_path / name).open()
    (tmp_path / "other.db").unlink()
    assert store.open() == b"ledger"
    store.close()


def test_the_bell_file_recognises_an_older_copy_of_the_log_each_time(tmp_path: Path) -> None:
    """Put back twice: after the first time, the identity in the copy is older than the one in the bell file."""

    async def scenario() -> None:
        log = SqliteLog(tmp_path / "board")
        await log.ensure(TOPIC)
        await log.append(TOPIC, [NewRecord(payload=b"x")] * 10)
        await log.close()
        shutil.copy(tmp_path / "board/package.db", tmp_path / "copy")
        identities, end = set[str](), 11
        for _ in range(3):
            log = SqliteLog(tmp_path / "board")
            assert (await log.append(TOPIC, [NewRecord(payload=b"y")] * 5))[0] == end
            end += 5
            identities.add(await log.identity(TOPIC))
            await log.close()
            shutil.copy(tmp_path / "copy", tmp_path / "board/package.db")
        assert len(identities) == 3

    asyncio.run(scenario())


def test_a_log_file_carries_the_mark_that_the_bell_file_compares(tmp_path: Path) -> None:
    asyncio.run(used(tmp_path / "board"))
    with sqlite3.connect(tmp_path / "board/package.db") as db:
        assert db.execute("PRAGMA application_id").fetchone()[0] > 0
    db.close()
