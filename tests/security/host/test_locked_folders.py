"""Folders without permissions for their owner lock no subscriber out of its target. All as an ordinary user."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repository import Entry, EntryKind
from callboard.cli.app import app
from callboard.content.ship import build, receive
from callboard.errors import ConfigError, LogUnavailable, RepositoryUnavailable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.testing.conformance.repository.harness import file, folder
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from tests.ordinary_user import as_ordinary_user

MODES = (0o000, 0o111, 0o444, 0o555, 0o077, 0o100, 0o500, 0o300)


class Tree:
    """A source with these folders, and a file in each."""

    def __init__(self, modes: dict[str, int], content: bytes = b"content") -> None:
        self.modes, self.content = modes, content

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        for folder_path, mode in sorted(self.modes.items()):
            if folder_path == path or deep:
                yield Entry(folder_path, EntryKind.FOLDER, mode)
                if deep:
                    name = f"{folder_path.rstrip('/')}/file"
                    yield Entry(name, EntryKind.FILE, 0o644, len(self.content), open=lambda: iter([self.content]))


async def imported(place: Path, source: Tree) -> None:
    """Ship the source and import it at the place."""
    blobs, spool = MemoryBlobStore(lambda: 1), place.with_name("spool")
    spool.mkdir(exist_ok=True)
    shipment = await build(Kind.ADD, source, ("/",), ("/",), blobs=blobs, spool=spool)
    message = PackageMessage(
        publisher_instance="p#1", publisher="p", package_id="1", kind=Kind.ADD,
        **{name: getattr(shipment, name) for name in shipment.__dataclass_fields__},
    )  # fmt: skip
    repository = FolderRepository(place)
    try:
        await repository.open()
        async with receive(message, blobs, spool) as received:
            await repository.apply(received.operations(), b"ledger")
    finally:
        await repository.close()


def modes(place: Path) -> set[int]:
    folders = [place, *(path for path in place.rglob("*") if path.is_dir() and ".callboard" not in path.parts)]
    return {stat.S_IMODE(path.stat().st_mode) for path in folders}


@pytest.mark.parametrize("mode", MODES, ids="{:03o}".format)
def test_a_package_cannot_lock_a_subscriber_out_of_its_target(mode: int, ordinary_path: Path) -> None:
    place = ordinary_path / "target"

    def body() -> None:
        for content in (b"first", b"second"):
            asyncio.run(imported(place, Tree(dict.fromkeys(("/", "/a", "/a/b"), mode), content)))
            assert (place / "a/b/file").read_bytes() == content
            assert modes(place) == {mode | 0o700}
        asyncio.run(imported(place, Tree({"/": mode})))
        assert not (place / "a").exists()

    as_ordinary_user(body)


@pytest.mark.parametrize("mode", MODES, ids="{:03o}".format)
def test_a_folder_that_locks_its_owner_out_is_unlocked_by_the_next_change(mode: int, ordinary_path: Path) -> None:
    place = ordinary_path / "target"

    def body() -> None:
        store = FolderStore(place)
        store.open()
        store.apply([folder("/a/b", 0o755), file("/a/b/c"), file("/a/d/e")], b"ledger")
        for name in ("a/b", "a/d", "a"):
            (place / name).chmod(mode)
        store.apply([file("/a/b/c", "new"), file("/x")], b"ledger")
        store.close()
        store.open()
        store.apply([folder("/a/d")], b"ledger")
        assert (place / "a/b/c").read_text() == "new"
        store.close()

    as_ordinary_user(body)


def test_the_error_for_an_unreadable_target_says_what_to_run(ordinary_path: Path) -> None:
    (place := ordinary_path / "target").mkdir()
    os.chown(place, ordinary_path.stat().st_uid, -1)
    place.chmod(0)

    def body() -> None:
        with pytest.raises(RepositoryUnavailable, match=f"run: chmod u\\+rwx {place}, then try again"):
            FolderStore(place).open()
        place.chmod(0o700)
        assert FolderStore(place).open() == b""

    as_ordinary_user(body)


@pytest.mark.parametrize("locked", ["folder", "log"])
def test_init_in_a_locked_folder_says_what_to_do(locked: str, ordinary_path: Path) -> None:
    (place := ordinary_path / "place").mkdir()
    os.chown(place, ordinary_path.stat().st_uid, -1)
    place.chmod(0)

    with TemporaryDirectory() as other:  # what a command imports, the ordinary user may not be able to read
        CliRunner().invoke(app, ["init", "--config", f"{other}/callboard.toml", "--log", f"sqlite:///{other}/board.db"])

    def body() -> None:
        config = place / "callboard.toml" if locked == "folder" else ordinary_path / "callboard.toml"
        done = CliRunner().invoke(app, ["init", "--config", str(config), "--log", f"sqlite:///{place}/board.db"])
        assert isinstance(done.exception, ConfigError | LogUnavailable)
        assert str(place) in str(done.exception)
        assert "run: chmod u+rwx" in str(done.exception) or "check the owner and mode" in str(done.exception)

    as_ordinary_user(body)
