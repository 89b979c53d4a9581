"""Fetching the packages of a batch concurrently: bounded, in order, and without leftovers."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from callboard.backends.repository import EntryKind, Put
from callboard.content.importing.receive import operations, receive_all
from callboard.content.ship import build
from callboard.errors import BlobMissing, CallboardError, PackageCorrupt, PackageRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, Node


class SlowBlobStore(MemoryBlobStore):
    """Fetches only while the test lets it."""

    def __init__(self) -> None:
        super().__init__(lambda: 0)
        self.running = self.most = 0
        self.let = asyncio.Event()

    async def fetch(self, digest: str, folder: Path) -> Path:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.let.wait()
            return await super().fetch(digest, folder)
        finally:
            self.running -= 1


async def package(number: int, blobs: MemoryBlobStore, spool: Path, *, inline: bool = False) -> PackageMessage:
    source = MemoryRepository()
    source.tree[f"/{number}"] = Node(EntryKind.FILE, 0o644, b"%d" % number)
    inline_max = 100_000 if inline else 0
    shipment = await build(Kind.ADD, source, [f"/{number}"], [], blobs=blobs, spool=spool, inline_max=inline_max)
    return PackageMessage(publisher_instance="i", package_id=f"p{number}", kind=Kind.ADD, **asdict(shipment))


def play(scene: Callable[[SlowBlobStore], Coroutine[Any, Any, None]]) -> None:
    async def begin() -> None:
        await scene(SlowBlobStore())

    asyncio.run(begin())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)


def left(spool: Path) -> list[Path]:
    return list(spool.iterdir())


async def paths(messages: list[PackageMessage], blobs: MemoryBlobStore, spool: Path) -> list[str]:
    async with receive_all(messages, blobs, spool, 3) as received:
        return [operation.entry.path for operation in operations(received) if isinstance(operation, Put)]


@pytest.mark.proves("W32")
def test_a_bounded_number_of_packages_is_fetched_concurrently_and_applied_in_order(tmp_path: Path) -> None:
    async def scene(blobs: SlowBlobStore) -> None:
        messages = [await package(number, blobs, tmp_path, inline=number % 4 == 0) for number in range(10)]
        work = asyncio.ensure_future(paths(messages, blobs, tmp_path))
        await until(lambda: blobs.running == 3)
        blobs.let.set()
        assert await work == [f"/{number}" for number in range(10)]
        assert blobs.most == 3
        assert left(tmp_path) == []

    play(scene)


def test_if_several_fetches_fail_the_error_is_that_of_the_first_and_no_file_is_left(tmp_path: Path) -> None:
    async def scene(blobs: SlowBlobStore) -> None:
        blobs.let.set()
        good, lost, wrong = [await package(number, blobs, tmp_path) for number in range(3)]
        lost = replace(lost, content_ref="0" * 64)
        wrong = replace(wrong, content_digest="1" * 64)
        for messages, error in (([good, lost, wrong], BlobMissing), ([good, wrong, lost], PackageCorrupt)):
            with pytest.raises(error):
                await paths(messages, blobs, tmp_path)
            assert left(tmp_path) == []

    play(scene)


def test_a_cancelled_fetch_leaves_no_file(tmp_path: Path) -> None:
    async def scene(blobs: SlowBlobStore) -> None:
        messages = [await package(number, blobs, tmp_path) for number in range(5)]
        work = asyncio.ensure_future(paths(messages, blobs, tmp_path))
        await until(lambda: blobs.running == 3)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert blobs.running == 0
        assert left(tmp_path) == []

    play(scene)


@pytest.mark.proves("F78")
@pytest.mark.parametrize("kind", [Kind.ADD, Kind.DELETE, Kind.INVALIDATE])
def test_a_package_of_another_format_is_refused_for_every_kind(kind: Kind, tmp_path: Path) -> None:
    async def scene(blobs: SlowBlobStore) -> None:
        message = PackageMessage(
            publisher_instance="i", package_id="p", kind=kind, paths=("/a",), content=b"x", format="journal"
        )
        with pytest.raises(PackageRefused, match="format 'journal' is unknown; upgrade, or clear"):
            await paths([message], blobs, tmp_path)

    play(scene)


def test_only_errors_of_callboard_are_raised(tmp_path: Path) -> None:
    async def scene(blobs: SlowBlobStore) -> None:
        message = PackageMessage(publisher_instance="i", package_id="p", kind=Kind.ADD, content_ref="no digest")
        with pytest.raises(CallboardError):
            await paths([message], blobs, tmp_path)

    play(scene)
