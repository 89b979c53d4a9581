import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, SaveLedger
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import BlobUnavailable, CallboardError, PackageCorrupt, RepositoryUnavailable
from callboard.messages import codec
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.record import NewRecord
from callboard.testing.drivers.subscriber_example import LEDGER
from callboard.testing.fakes.memory_repository import MemoryRepository


class World(AgentWorld):
    """One with everything in memory but the blobs and the spool."""

    def __init__(self, folder: Path) -> None:
        self.log = MemoryLog()
        self.repository = MemoryRepository()
        self.spool = folder / "spool"
        self.blobs = folder / "blobs"
        super().__init__(self.log, FolderBlobStore(self.blobs), self.spool, repository=self.repository, owned=True)


def run(folder: Path, scenario: Callable[[World], Awaitable[None]]) -> None:
    async def scene() -> None:
        world = World(folder)
        try:
            await scenario(world)
        finally:
            await world.close()

    asyncio.run(scene())


def importing(**fields: object) -> ImportPackages:
    message = PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.ADD, **fields)  # type: ignore[arg-type]
    return ImportPackages((message,), (10,), ("",), LEDGER, LEDGER)


async def raised(world: World, effect: Perform) -> CallboardError:
    with pytest.raises(CallboardError) as caught:
        await world.perform(effect)
    return caught.value


def test_opening_removes_unfinished_downloads_of_a_killed_importer(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        left = world.spool.with_name("spool-left")
        (left / "package-left").mkdir(parents=True)
        assert await world.perform(OpenRepository()) is None
        assert not left.exists()
        await world.perform(SaveLedger(LEDGER))
        assert await world.perform(OpenRepository()) == LEDGER

    run(tmp_path, scenario)


def test_a_world_that_did_not_open_the_repository_leaves_the_spool_alone(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        (tmp_path / "spool-1" / "package-of-the-importer").mkdir(parents=True)
        await world.log.ensure("t")
        await world.perform(FindBounds("t"))

    run(tmp_path, scenario)
    assert (tmp_path / "spool-1" / "package-of-the-importer").exists()


def test_a_spool_that_cannot_be_created_makes_the_repository_unavailable(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.perform(OpenRepository())
        world._spool = tmp_path / "file" / "spool"
        (tmp_path / "file").write_text("a file")
        error = await raised(world, importing(paths=("/a",), content_ref="0" * 64, content_digest="0" * 64))
        assert isinstance(error, RepositoryUnavailable)
        assert "spool" in str(error)

    run(tmp_path, scenario)


def test_the_error_of_an_unreadable_ledger_says_what_to_do(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        world.repository.store.ledger = b"\xff\xff"
        error = await raised(world, OpenRepository())
        assert isinstance(error, RepositoryUnavailable)
        assert "restore the repository from a backup" in str(error)

    run(tmp_path, scenario)


def test_an_add_without_content_is_corrupt(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.perform(OpenRepository())
        assert isinstance(await raised(world, importing(paths=("/a",))), PackageCorrupt)

    run(tmp_path, scenario)


def test_a_blob_that_cannot_be_read_does_not_count_against_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"content"
    digest = hashlib.sha256(content).hexdigest()

    def broken(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error", str(tmp_path / "blobs"))

    async def scenario(world: World) -> None:
        await world.perform(OpenRepository())
        effect = importing(paths=("/a",), content_ref=digest, content_digest=digest, blobs=(digest,))
        blobs = FolderBlobStore(world.blobs)
        await blobs.put(digest, [content])
        await blobs.close()
        monkeypatch.setattr("callboard.content.importing.apply._measured", broken)
        error = await raised(world, effect)
        assert isinstance(error, BlobUnavailable)
        assert "check the disk" in str(error)
        assert not world.spool.exists()

    run(tmp_path, scenario)


def test_an_attempt_is_stored_even_if_the_import_fails_completely(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.perform(OpenRepository())
        await raised(world, importing(paths=("/a",)))
        assert codec.decode(type(LEDGER), world.repository.ledger) == LEDGER

    run(tmp_path, scenario)


def test_a_read_says_where_the_next_one_begins_also_behind_a_gap(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.log.ensure("t")
        identity = await world.log.identity("t")
        await world.log.append("t", [NewRecord(payload=b"1"), NewRecord(payload=b"2")])
        read = await world.perform(ReadLog("t", 1, max_records=1))
        assert (read.log_id, [record.offset for record in read.records], read.next) == (identity, [1], 2)
        assert await world.perform(ReadLog("t", 3)) == LogRead(identity, (), 3)
        await world.log.trim("t", Retention(below_offset=2))
        assert await world.perform(FindBounds("t")) == TopicBounds(identity, 2, 3)

    run(tmp_path, scenario)


def test_waiting_ends_with_the_first_record(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.log.ensure("t")
        reading = asyncio.ensure_future(world.perform(ReadLog("t", 1, wait_s=60)))
        await asyncio.sleep(0)
        await world.log.append("t", [NewRecord(payload=b"1")])
        assert (await reading).next == 2

    run(tmp_path, scenario)
