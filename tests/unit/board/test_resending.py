"""A package is resent with its content, once for each request, and over newer content only by force."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from callboard.backends.logs.memory import MemoryLog
from callboard.board.command.resending import append_again, touch
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.views import Package
from callboard.errors import OffsetOutOfRange, RequestRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import NewRecord
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from tests.refused import refused

TOPIC = "callboard.package"
BLOB = b"large"
DIGEST = hashlib.sha256(BLOB).hexdigest()


def package(kind: Kind, *paths: str, blobs: tuple[str, ...] = ()) -> PackageMessage:
    return PackageMessage(
        publisher_instance="i",
        publisher="site",
        package_id=f"{kind.name}{paths}",
        kind=kind,
        paths=paths,
        blobs=blobs,
        user="ada",
        metadata=(("ticket", "7"),),
        content=b"content",
    )


class Board:
    def __init__(self) -> None:
        self.now_ns = 10**18
        self.log = MemoryLog(clock=lambda: self.now_ns)
        self.blobs = MemoryBlobStore(lambda: self.now_ns)

    async def append(self, message: PackageMessage) -> int:
        record = new_record(message, record_id=f"r-{message.package_id}", time_ns=self.now_ns, producer="test")
        return (await self.log.append(TOPIC, [record]))[0]

    async def resend(self, offset: int, **options) -> Package:
        resources = Resources(BoardSettings("memory:", blobs="none"), lambda _: self.log, lambda _: self.blobs)
        await resources.open()
        context = BoardContext(resources, Agents(resources), lambda: self.now_ns)
        return await append_again(context, offset, **{"to": (), "author": "bob"} | options)


def on_board(scenario: Callable[[Board], Awaitable[None]]) -> None:
    async def body() -> None:
        board = Board()
        await board.log.ensure(TOPIC)
        await scenario(board)

    asyncio.run(body())


@pytest.mark.proves("W28")
@pytest.mark.parametrize("recipients", [(), ("edge-1", "edge-2")])
def test_the_new_package_is_the_old_one_with_its_cause_and_its_author(recipients):
    async def scenario(board: Board) -> None:
        old = package(Kind.ADD, "/a")
        offset = await board.append(old)
        sent = await board.resend(offset, to=recipients)
        [record] = await board.log.read(TOPIC, sent.offset)
        new = open_record(record, PackageMessage)
        assert record.header("cause") == f"r-{old.package_id}"
        assert (new.user, new.recipients) == ("bob", recipients)
        assert new.package_id == sent.id != old.package_id
        same = {"publisher_instance": "", "package_id": "", "user": "", "request_id": "7", "recipients": ()}
        assert replace(new, **same) == replace(old, **same)

    on_board(scenario)


def test_a_repeated_resend_request_is_shipped_once():
    async def scenario(board: Board) -> None:
        offset = await board.append(package(Kind.DELETE, "/a"))
        first = await board.resend(offset, request_id="x")
        assert await board.resend(offset, request_id="x", force=True) == first
        assert len(await board.log.read(TOPIC, offset)) == 2

    on_board(scenario)


@pytest.mark.parametrize("later", ["/a", "/a/b/c", "/"])
@pytest.mark.parametrize("kind", [Kind.ADD, Kind.DELETE])
def test_resending_does_not_replace_newer_content_unless_forced(later, kind):
    async def scenario(board: Board) -> None:
        offset = await board.append(package(Kind.ADD, "/a/b"))
        await board.append(package(Kind.ADD, "/b"))
        newer = await board.append(package(kind, "/a/b" if later == "/a" else later))
        with pytest.raises(RequestRefused, match=f"offsets {newer}, touch"):
            await board.resend(offset)
        assert (await board.log.bounds(TOPIC)).end == newer + 1
        assert (await board.resend(offset, force=True)).offset == newer + 1

    on_board(scenario)


@pytest.mark.parametrize("kind", [Kind.TEST, Kind.INVALIDATE])
def test_packages_without_content_do_not_prevent_resending(kind):
    async def scenario(board: Board) -> None:
        offset = await board.append(package(Kind.ADD, "/a"))
        await board.append(package(kind, "/a"))
        assert (await board.resend(offset)).offset == offset + 2

    on_board(scenario)


def test_an_unreadable_newer_package_counts_as_touching_every_path():
    async def scenario(board: Board) -> None:
        offset = await board.append(package(Kind.ADD, "/a"))
        await board.log.append(TOPIC, [NewRecord(payload=b"\xff")])
        with pytest.raises(RequestRefused):
            await board.resend(offset)

    on_board(scenario)


def test_resending_a_package_without_its_content_is_refused_with_advice():
    async def scenario(board: Board) -> None:
        offset = await board.append(package(Kind.ADD, "/a", blobs=(DIGEST,)))
        with refused("gone"):
            await board.resend(offset)
        assert (await board.log.bounds(TOPIC)).end == offset + 1

    on_board(scenario)


def test_resending_restarts_the_grace_period_of_blobs():
    async def scenario(board: Board) -> None:
        await board.blobs.put(DIGEST, [BLOB])
        offset = await board.append(package(Kind.ADD, "/a", blobs=(DIGEST,)))
        board.now_ns += 10**15
        await board.resend(offset)
        assert [blob.stored_ns async for blob in board.blobs.list()] == [board.now_ns]

    on_board(scenario)


def test_only_a_package_with_content_can_be_resent():
    async def scenario(board: Board) -> None:
        test = await board.append(package(Kind.TEST))
        [garbage] = await board.log.append(TOPIC, [NewRecord(payload=b"\xff")])
        for offset in (test, garbage):
            with pytest.raises(RequestRefused):
                await board.resend(offset)
        with pytest.raises(OffsetOutOfRange):
            await board.resend(garbage + 1)

    on_board(scenario)


@pytest.mark.parametrize(
    ("one", "other", "touching"),
    [("/a", "/a", True), ("/a", "/a/b", True), ("/a/b", "/a", True), ("/", "/x", True), ("/a", "/ab", False)],
)
def test_packages_touch_if_their_paths_are_equal_or_one_contains_the_other(one, other, touching):
    assert touch(package(Kind.ADD, one), package(Kind.ADD, "/z", other)) is touching
