"""Another user puts links, pipes, hard links and folders where a file is about to be read or written."""

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from callboard.backends.blob_stores.folder import LEFTOVER_AGE_NS, FolderBlobStore
from callboard.backends.local.disk import replacing
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repository import Delete
from callboard.board.archive.archive_tip import ArchiveTip, write_tip
from callboard.content.snapshot import write_snapshot
from callboard.errors import BlobUnavailable, LogUnavailable, RepositoryUnavailable, RequestRefused
from callboard.messages.record import NewRecord
from callboard.testing.conformance.repository.harness import file
from tests.refused import refused

STRANGER = 65534
CONTENT = b"content"
DIGEST = sha256(CONTENT).hexdigest()
TOPIC = "package"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (outside := tmp_path / "outside").write_bytes(b"outside")
    return outside


# Names of temporary files that could be guessed.


def test_a_link_under_the_name_of_a_temporary_file_is_not_written_through(outside: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    for name in ("snapshot.part", "tip.new", ".tip.new"):
        (tmp_path / name).symlink_to(outside)
    write_snapshot(FolderSource(tmp_path / "site"), b"ledger", tmp_path / "snapshot", 7)
    write_tip(tmp_path / "tip", ArchiveTip("l", 1))
    assert outside.read_bytes() == b"outside"


def test_replacing_a_link_replaces_the_link_and_not_its_target(outside: Path, tmp_path: Path) -> None:
    (tmp_path / "target").symlink_to(outside)
    with replacing(tmp_path / "target") as new:
        new.write(b"new")
    assert outside.read_bytes() == b"outside"
    assert (tmp_path / "target").read_bytes() == b"new"
    with pytest.raises(KeyError), replacing(tmp_path / "target"):
        raise KeyError
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "target"], "nothing is left behind"


# A blob store that several users share.


def put(store: FolderBlobStore) -> None:
    async def body() -> None:
        try:
            await store.put(DIGEST, [CONTENT], len(CONTENT))
        finally:
            await store.close()

    asyncio.run(body())


@pytest.mark.parametrize("name", ["tmp", DIGEST[:2]])
def test_a_link_among_the_folders_of_a_blob_store_neither_gets_nor_loses_files(name: str, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "old").write_bytes(b"of another user")
    old_ns = (elsewhere / "old").stat().st_mtime_ns - 2 * LEFTOVER_AGE_NS
    os.utime(elsewhere / "old", ns=(old_ns, old_ns))
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / name).symlink_to(elsewhere)
    with pytest.raises(BlobUnavailable, match="is a link; replace it by a folder"):
        put(FolderBlobStore(tmp_path / "blobs"))
    assert [path.name for path in elsewhere.iterdir()] == ["old"]


# A log whose files are no files.


@pytest.mark.parametrize("name", ["package.bell", "package.lock"])
def test_a_pipe_in_place_of_a_file_of_the_log_blocks_nothing_for_ever(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)

    async def scene() -> None:
        log = SqliteLog(tmp_path)
        with pytest.raises(LogUnavailable, match=f"{name}: .* is in the place of this file: remove it"):
            await log.ensure(TOPIC)
        (tmp_path / name).unlink()
        await log.ensure(TOPIC)
        assert await log.append(TOPIC, [NewRecord(payload=b"x")]) == [1]
        await log.close()

    asyncio.run(scene())


# A target, and what a subscriber keeps in it.


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can make a folder of another user")
def test_a_folder_that_another_user_made_for_a_subscribers_own_files_is_refused(tmp_path: Path) -> None:
    (own := tmp_path / "out/.callboard").mkdir(parents=True)
    os.chown(own, STRANGER, STRANGER)
    with pytest.raises(RepositoryUnavailable, match=f"belongs to another user, number {STRANGER}.* remove it"):
        FolderStore(tmp_path / "out").open()
    os.chown(tmp_path / "out", STRANGER, STRANGER)  # the superuser may create it for the owner of the target
    store = FolderStore(tmp_path / "out")
    assert store.open() == b""
    store.close()


def test_a_folder_of_a_subscribers_own_files_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (own := tmp_path / "out/.callboard").mkdir(parents=True)
    own.chmod(0o777)
    store = FolderStore(tmp_path / "out")
    store.open()
    store.close()
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


@pytest.mark.parametrize("make", [
    lambda path, outside: os.link(outside, path), lambda path, _: os.mkfifo(path),
    lambda path, outside: path.symlink_to(outside), lambda path, _: bound(path),
])  # fmt: skip
def test_a_foreign_file_in_place_of_content_is_replaced_and_never_written_to(
    make: Callable[[Path, Path], None], outside: Path, tmp_path: Path
) -> None:
    before = outside.stat()
    store = FolderStore(tmp_path / "out")
    store.open()
    store.apply([file("/page", "old"), file("/other", "old")], b"ledger")
    for name in ("page", "other"):
        (tmp_path / "out" / name).unlink()
        make(tmp_path / "out" / name, outside)
    store.apply([file("/page", "new", 0o600), Delete("/other")], b"ledger")
    store.close()
    assert (tmp_path / "out/page").read_text() == "new"
    assert not os.path.lexists(tmp_path / "out/other")
    assert outside.read_bytes() == b"outside"
    assert (outside.stat().st_mode, outside.stat().st_ino) == (before.st_mode, before.st_ino)


# A source.


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(path.parent, os.O_RDONLY)  # the path itself may be too long for an address
        try:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


@pytest.mark.parametrize("make", [os.mkfifo, bound])
def test_pipes_and_sockets_in_a_source_are_refused_at_once(make: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    make(tmp_path / "site/odd")
    with pytest.raises(RequestRefused, match="/odd is neither file, folder nor link"):
        list(FolderSource(tmp_path / "site").entries("/", deep=True))


def test_a_file_that_becomes_a_pipe_before_it_is_read_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/page").write_bytes(CONTENT)
    _, page = FolderSource(tmp_path / "site").entries("/", deep=True)
    (tmp_path / "site/page").unlink()
    os.mkfifo(tmp_path / "site/page")
    with refused("changed"):
        list(page.open())


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can make a device")
def test_a_device_in_a_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    os.mknod(tmp_path / "site/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    with pytest.raises(RequestRefused, match="/zero is neither file, folder nor link"):
        list(FolderSource(tmp_path / "site").entries("/", deep=True))
