"""The collection of blobs removes unused ones, and never one that a package of any publisher needs."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from callboard.backends.blob_store import BlobInfo
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.content.collection import GRACE_S, BlobCollection, collect
from callboard.messages.distribution.topic_messages import CommandResultMessage, Kind, PackageMessage
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

HOUR_NS = 3600 * 10**9
DAY_NS = 24 * HOUR_NS
PACKAGE, STATUS = "callboard.package", "callboard.status"


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Store(FolderBlobStore):
    """Calls back after the list was read, so that a test can change something in between."""

    def __init__(self, root, clock) -> None:
        super().__init__(root, clock)
        self.listed: Callable[[], Awaitable[None]] | None = None
        self.removed_before_death = -1

    async def list(self) -> AsyncIterator[BlobInfo]:
        async for blob in super().list():
            yield blob
        if self.listed is not None:
            await self.listed()

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        if not self.removed_before_death:
            raise Killed
        self.removed_before_death -= 1
        return await super().delete_unless_renewed(digest, since_ns)


class Killed(Exception):
    """The janitor's process is gone."""


class Board:
    """A log and a blob store with one clock."""

    def __init__(self, root) -> None:
        self.now_ns = 1000 * DAY_NS
        self.log = MemoryLog(clock=lambda: self.now_ns)
        self.blobs = Store(root, lambda: self.now_ns)
        self.packages = 0

    async def put(self, *contents: bytes) -> None:
        for content in contents:
            await self.blobs.put(digest_of(content), [content])

    async def append(self, *contents: bytes, reference: bytes = b"") -> int:
        self.packages += 1
        return await self.record(
            PACKAGE,
            PackageMessage(
                publisher_instance="i",
                publisher="site",
                package_id=f"p-{self.packages}",
                kind=Kind.ADD,
                blobs=tuple(map(digest_of, contents)),
                content_ref=digest_of(reference) if reference else "",
            ),
        )

    async def record(self, topic: str, event: Event) -> int:
        record = new_record(event, record_id=f"r-{self.now_ns}", time_ns=self.now_ns, producer="test")
        return (await self.log.append(topic, [record]))[0]

    async def collect(self, **options) -> BlobCollection:
        settings = {"grace_s": GRACE_S, "now_ns": self.now_ns, "delete": True} | options
        return await collect(self.log, self.blobs, package=PACKAGE, status=STATUS, **settings)

    async def holds(self, *contents: bytes) -> Sequence[bool]:
        return [await self.blobs.exists(digest_of(content)) for content in contents]


@pytest.fixture
def on_board(tmp_path):
    def run(scenario: Callable[[Board], Awaitable[None]]) -> None:
        async def body() -> None:
            board = Board(tmp_path / "blobs")
            for topic in (PACKAGE, STATUS):
                await board.log.ensure(topic)
            try:
                await scenario(board)
            finally:
                await board.blobs.close()
                await board.log.close()

        asyncio.run(body())

    return run


@pytest.mark.proves("F22", "F23")
def test_blobs_of_no_retained_record_are_removed(on_board):
    async def scenario(board: Board) -> None:
        contents = (b"file", b"package", b"listing", b"trimmed", b"never appended")
        await board.put(*contents)
        trimmed = await board.append(b"trimmed", b"file")
        await board.append(b"file", reference=b"package")
        await board.record(
            STATUS,
            CommandResultMessage(
                subscriber_instance="i",
                subscriber="edge",
                command_id="c",
                command_offset=1,
                accepted=True,
                listing_ref=digest_of(b"listing"),
            ),
        )
        await board.log.trim(PACKAGE, Retention(below_offset=trimmed + 1))
        board.now_ns += 2 * DAY_NS
        found = await board.collect(delete=False)
        assert (found.blobs, found.unused, found.removed) == (5, 2, 0)
        assert found.unused_bytes == len(b"trimmed" + b"never appended")
        assert await board.holds(*contents) == [True] * 5
        assert await board.collect(batch=1) == all_removed(found)
        assert await board.holds(*contents) == [True, True, True, False, False]

    on_board(scenario)


def all_removed(found: BlobCollection) -> BlobCollection:
    return BlobCollection(
        found.blobs, found.length, found.unused, found.unused_bytes, removed=2, removed_bytes=found.unused_bytes
    )


def test_blobs_stored_within_the_grace_period_are_kept(on_board):
    async def scenario(board: Board) -> None:
        await board.put(b"old", b"young")
        board.now_ns += DAY_NS + 10**6
        await board.put(b"young")
        assert (await board.collect()).removed == 1
        assert await board.holds(b"old", b"young") == [False, True]

    on_board(scenario)


@pytest.mark.parametrize("off_ns", [-HOUR_NS, HOUR_NS], ids=["behind", "ahead"])
def test_clocks_that_are_an_hour_off_do_no_harm(on_board, off_ns):
    async def scenario(board: Board) -> None:
        await board.put(b"being built")
        assert (await board.collect(now_ns=board.now_ns + 22 * HOUR_NS + off_ns)).removed == 0

    on_board(scenario)


def test_a_package_that_is_published_while_blobs_are_collected_keeps_its_blobs(on_board):
    """One that was built before and is appended after the list was read; one that is put and appended only then."""

    async def scenario(board: Board) -> None:
        await board.put(b"mine", b"shared", b"unused")
        board.now_ns += 2 * DAY_NS

        async def publish() -> None:
            await board.append(b"mine")
            await board.put(b"shared")

        board.blobs.listed = publish
        assert (await board.collect()).removed == 1
        await board.append(b"shared")
        assert await board.holds(b"mine", b"shared", b"unused") == [True, True, False]

    on_board(scenario)


def test_two_concurrent_janitors_remove_each_blob_once(on_board):
    async def scenario(board: Board) -> None:
        contents = [b"%d" % number for number in range(40)]
        await board.put(*contents)
        await board.append(*contents[:20])
        board.now_ns += 2 * DAY_NS
        done = await asyncio.gather(*(board.collect(batch=7) for _ in range(2)))
        assert sum(each.removed for each in done) == 20
        assert await board.holds(*contents) == [True] * 20 + [False] * 20

    on_board(scenario)


@pytest.mark.parametrize("removed", range(4))
def test_a_killed_janitor_leaves_its_work_to_the_next_one(on_board, removed):
    async def scenario(board: Board) -> None:
        contents = [b"%d" % number for number in range(8)]
        await board.put(*contents)
        await board.append(*contents[:4])
        board.now_ns += 2 * DAY_NS
        board.blobs.removed_before_death = removed
        with pytest.raises(Killed):
            await board.collect()
        board.blobs.removed_before_death = -1
        assert (await board.collect()).removed == 4 - removed
        assert await board.holds(*contents) == [True] * 4 + [False] * 4

    on_board(scenario)


NEWER = (("type", "PackageMessage"), ("version", "1.99"))


@pytest.mark.parametrize(
    ("topic", "headers"),
    [
        (PACKAGE, ()),
        (PACKAGE, NEWER),
        (PACKAGE, (("type", "PackageMessage"), ("version", "2.0"))),
        (STATUS, (("type", "SomethingNewMessage"), ("version", "1.99"))),
    ],
)
def test_nothing_is_removed_while_a_record_cannot_be_read(on_board, topic, headers):
    async def scenario(board: Board) -> None:
        await board.put(b"unused")
        board.now_ns += 2 * DAY_NS
        payload = b"\xff\xff" if not headers else b""
        [offset] = await board.log.append(topic, [NewRecord(payload=payload, headers=headers)])
        found = await board.collect()
        assert (found.removed, await board.holds(b"unused")) == (0, [True])
        assert f"offset {offset}" in found.problem
        await board.log.trim(topic, Retention(below_offset=offset + 1))
        assert (await board.collect()).removed == 1

    on_board(scenario)


def test_a_log_trimmed_during_the_collection_is_read_to_its_end(on_board):
    async def scenario(board: Board) -> None:
        await board.put(b"needed", b"unused")
        first = await board.append()
        await board.append(b"needed")
        board.now_ns += 2 * DAY_NS

        async def trim() -> None:
            await board.log.trim(PACKAGE, Retention(below_offset=first + 1))

        board.blobs.listed = trim
        assert (await board.collect()).removed == 1
        assert await board.holds(b"needed") == [True]

    on_board(scenario)
