"""Blobs that only archived packages refer to are not collected: else they could not be replayed."""

import asyncio
import os
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.backends.log import Retention
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings
from callboard.errors import ArchiveDamaged, ArchiveHole, LogReplaced

VERSIONS = 3


class Shop:
    """A board with one large file, of which each version is a package of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url, self.place = folder, f"sqlite:///{folder}/board.db", str(folder / "archive")
        self.versions = 0

    async def publish(self) -> None:
        (self.folder / "site").mkdir(exist_ok=True)
        (self.folder / "site" / "large.bin").write_bytes(bytes([self.versions]) * 100_000)
        self.versions += 1
        async with Callboard(self.url) as board:
            await board.publisher("site").publish(self.folder / "site")

    async def archive(self, *, accept_hole: bool = False) -> None:
        settings = BoardSettings(self.url, base=self.folder)
        report = await archiving.archive(
            settings, self.place, accept_hole=accept_hole, tip=None, on_progress=lambda *_: None
        )
        assert report.error is None

    async def trim(self, below: int) -> None:
        async with Callboard(self.url) as board:
            await board.trim(Retention(below_offset=below))

    async def collect(self, place: str = "") -> int:
        for file in (self.folder / "board.db" / "blobs").glob("??/*"):
            os.utime(file, (0, 0))
        async with Callboard(self.url, blobs_for=place) as board:
            found = await board.collect_blobs(delete=True)
            assert not found.problem
            return found.removed


@pytest.fixture
def shop(tmp_path) -> Shop:
    return Shop(tmp_path)


@pytest.mark.proves("F22")
def test_blobs_of_archived_packages_are_kept_as_long_as_the_archive_is_configured(shop):
    async def scenario() -> None:
        for _ in range(VERSIONS):
            await shop.publish()
        await shop.archive()
        await shop.publish()
        await shop.trim(VERSIONS)
        assert await shop.collect(shop.place) == 0
        await shop.trim(VERSIONS + 1)
        assert await shop.collect(shop.place) == 0, "what is archived up to the log's first record"
        assert await shop.collect() == VERSIONS

    asyncio.run(scenario())


def test_nothing_is_collected_while_the_needs_of_the_archive_are_unknown(shop):
    async def scenario() -> None:
        for _ in range(VERSIONS):
            await shop.publish()
        with pytest.raises(ArchiveDamaged, match="archive run"):
            await shop.collect(shop.place)
        await shop.archive()
        await shop.publish()
        await shop.publish()
        await shop.trim(VERSIONS + 2)
        with pytest.raises(ArchiveHole, match="from 4 up to 5"):
            await shop.collect(shop.place)
        await shop.archive(accept_hole=True)
        with pytest.raises(ArchiveHole, match="from 4 up to 5"):
            await shop.collect(shop.place)
        shop.url += "-other"
        await shop.publish()
        (shop.folder / "board.db").rename(shop.folder / "gone")
        (shop.folder / "board.db-other").rename(shop.folder / "board.db")
        shop.url = shop.url.removesuffix("-other")
        with pytest.raises(LogReplaced):
            await shop.collect(shop.place)

    asyncio.run(scenario())
