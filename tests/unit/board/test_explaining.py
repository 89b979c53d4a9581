"""Every path is explained: which package brought it, and why a newer one has not."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from callboard.backends.logs.memory import MemoryLog
from callboard.backends.repositories.folder_source import FolderSource
from callboard.board.read import explaining
from callboard.board.read.explaining import Explanation, explain
from callboard.content.ship import build
from callboard.errors import BlobMissing
from callboard.messages import codec, headers
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

PACKAGE, STATUS = "callboard.package", "callboard.status"


class Board:
    def __init__(self, folder) -> None:
        self.folder = folder
        self.log = MemoryLog(clock=lambda: 10**18)
        self.blobs = MemoryBlobStore(lambda: 10**18)
        self.sequence = 0

    async def add(self, *paths: str, deep: bool = True, inline_max: int = 800_000, **fields: object) -> int:
        shipped = await build(
            Kind.ADD,
            FolderSource(self.folder),
            paths,
            paths if deep else (),
            blobs=self.blobs,
            spool=self.folder.parent,
            inline_max=inline_max,
        )
        known = {name: getattr(shipped, name) for name in shipped.__dataclass_fields__}
        return await self.append(package(Kind.ADD, **known | fields))

    async def append(self, message: PackageMessage | PackageStatusMessage) -> int:
        self.sequence += 1
        producer = f"{getattr(message, 'subscriber', 'site')}/i"
        record = new_record(message, record_id=f"r-{self.sequence}", time_ns=10**18, producer=producer)
        topic = PACKAGE if isinstance(message, PackageMessage) else STATUS
        return (await self.log.append(topic, [record]))[0]

    async def told(
        self, offset: int, status: Status, reason: str = "", attempts: int = 0, subscriber: str = "edge"
    ) -> None:
        await self.append(
            PackageStatusMessage(
                subscriber_instance="i",
                subscriber=subscriber,
                publisher="site",
                offset=offset,
                status=status,
                reason=reason,
                attempts=attempts,
                sequence=self.sequence,
            )
        )

    async def explain(self, path: str, offset: int, **fields: object) -> Explanation:
        announcement = DiscoveryMessage(
            subscriber_instance="i",
            subscriber="edge",
            configuration=SubscriberConfiguration(editable=False, max_retries=-1),
            state=State.IDLE,
            offset=offset,
        )
        return await explain(self.log, self.blobs, PACKAGE, STATUS, replace(announcement, **fields), path)


def package(kind: Kind, **fields: object) -> PackageMessage:
    message = PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=kind, user="ada")
    return replace(message, **fields)


@pytest.fixture
def on_board(tmp_path):
    (tmp_path / "site" / "blog").mkdir(parents=True)
    (tmp_path / "site" / "blog" / "a.html").write_text("a")

    def run(scenario: Callable[[Board], Awaitable[None]]) -> None:
        async def body() -> None:
            board = Board(tmp_path / "site")
            for topic in (PACKAGE, STATUS):
                await board.log.ensure(topic)
            await scenario(board)

        asyncio.run(body())

    return run


def fates(found: Explanation) -> list[tuple[int, str]]:
    return [(each.offset, each.fate) for each in found.newer]


@pytest.mark.parametrize("inline_max", [0, 800_000])
def test_the_package_that_brought_a_path_is_found_behind_later_ones(on_board, inline_max):
    async def scenario(board: Board) -> None:
        first = await board.add("/", inline_max=inline_max)
        await board.append(package(Kind.DELETE, paths=("/elsewhere",)))
        await board.append(package(Kind.INVALIDATE, paths=("/blog/a.html",)))
        found = await board.explain("/blog/a.html", 3)
        assert found.brought is not None
        assert (found.brought.offset, found.brought.user, found.brought.publisher) == (first, "ada", "site")
        assert found.brought.fate.startswith("brought it: file, mode 644, 1 bytes, sha-256")
        assert found.newer == ()

    on_board(scenario)


@pytest.mark.parametrize("path", ["/blog", "/blog/gone.html"])
def test_a_removed_path_is_explained_by_the_package_that_removed_it(on_board, path):
    async def scenario(board: Board) -> None:
        await board.add("/")
        taken = await (board.append(package(Kind.DELETE, paths=("/blog",))) if path == "/blog" else board.add("/blog"))
        found = await board.explain(path, taken)
        assert found.brought is not None
        assert found.brought.offset == taken
        assert found.brought.fate.startswith("removed it")

    on_board(scenario)


def test_a_pending_package_is_explained_by_its_place_in_the_queue_or_by_what_blocks_the_head(on_board):
    async def scenario(board: Board) -> None:
        one = await board.add("/")
        two, three = await board.add("/blog"), await board.add("/blog/a.html", deep=False)
        found = await board.explain("/blog/a.html", one)
        assert found.brought is not None
        assert found.brought.offset == one
        assert fates(found) == [(two, "is next"), (three, "queued behind 1 more")]
        staged = await board.explain("/blog/a.html", one, state=State.STAGED, reason="waits for edge-0")
        assert fates(staged)[0] == (two, "is next; the subscriber is staged: waits for edge-0")
        failing = await board.explain("/blog/a.html", one, state=State.RETRYING, last_error="disk full")
        assert fates(failing)[0] == (two, "is next; the subscriber is retrying: disk full")

    on_board(scenario)


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        (Status.REMOVED_FAILED, "given up after 3 attempts: disk full"),
        (Status.REMOVED, "cleared after 3 attempts: disk full"),
        (Status.SKIPPED, "skipped after 3 attempts: disk full"),
        (Status.HELD, "quarantined after 3 attempts: disk full"),
        (Status.SUPERSEDED, "superseded: a later package brings all of it"),
    ],
)
def test_a_skipped_package_is_shown_with_the_reason_and_not_as_the_source_of_the_path(on_board, status, fate):
    async def scenario(board: Board) -> None:
        one, two = await board.add("/"), await board.add("/")
        await board.told(two, status, "disk full", 3)
        found = await board.explain("/blog/a.html", two)
        assert found.brought is not None
        assert (found.brought.offset, fates(found)) == (one, [(two, fate)])
        await board.told(two, Status.IMPORTED)
        found = await board.explain("/blog/a.html", two)
        assert found.brought is not None
        assert found.brought.offset == two

    on_board(scenario)


def test_packages_for_others_are_shown_as_such(on_board):
    async def scenario(board: Board) -> None:
        one = await board.add("/")
        two = await board.add("/", recipients=("edge-1", "edge-2"))
        three = await board.add("/", publisher="news")
        configuration = SubscriberConfiguration(editable=False, max_retries=-1, follows=("site",))
        found = await board.explain("/blog/a.html", three, configuration=configuration)
        assert found.brought is not None
        assert found.brought.offset == one
        assert fates(found) == [
            (two, "not for it, but for edge-1, edge-2 alone"),
            (three, "not followed: the subscriber follows site"),
        ]

    on_board(scenario)


def test_the_explanation_says_what_cannot_be_known(on_board, monkeypatch):
    async def scenario(board: Board) -> None:
        one = await board.add("/", inline_max=0)
        [garbage] = await board.log.append(PACKAGE, [NewRecord(payload=b"\xff")])
        [blob] = [each.digest async for each in board.blobs.list()]
        await board.blobs.delete(blob)
        found = await board.explain("/blog/a.html", garbage)
        assert found.brought is not None
        assert found.brought.offset == one
        assert "which is unknown" in found.brought.fate
        assert "cannot be decoded" in fates(found)[0][1]
        with pytest.raises(BlobMissing):
            await board.blobs.fetch(blob, board.folder)
        monkeypatch.setattr(explaining, "LOOK_BACK", 1)
        found = await board.explain("/blog/a.html", garbage)
        assert (found.brought, found.looked_back_to) == (None, garbage)

    on_board(scenario)


def test_statuses_of_others_and_packages_for_others_are_not_decoded(on_board, monkeypatch):
    async def scenario(board: Board) -> None:
        first = await board.add("/")
        for number in range(200):
            await board.append(package(Kind.DELETE, paths=("/blog",), recipients=("edge-2",)))
            await board.told(number, Status.IMPORTED, subscriber="edge-2")
        decoded = list[type[Event]]()
        plain = codec.decode
        monkeypatch.setattr(headers, "SHARED_BYTES_MAX", 0)  # else all that are the same are decoded once
        monkeypatch.setattr(codec, "decode", lambda cls, data: decoded.append(cls) or plain(cls, data))
        found = await board.explain("/blog/a.html", 201)
        assert found.brought is not None
        assert (found.brought.offset, len(found.newer)) == (first, explaining.LATER_MAX)
        assert decoded == [PackageMessage] * (explaining.LATER_MAX + 1)

    on_board(scenario)
