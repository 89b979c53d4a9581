"""A service that is typed strictly: `make lint` has mypy check this file with the package."""

import asyncio
from pathlib import Path

import callboard.sync
from callboard import Callboard, FailedPackage, HookCall, Package, Page, Publishing, QueuedPackage

PUBLISHING = Publishing(events=("created",))


async def changed(call: HookCall) -> None:
    """A hook that reads all its arguments."""
    paths = [change.path for change in call.changes.all() if not change.removed]
    assert len(paths) == call.changes.total


def folder(base: Path) -> str:
    """Something to ship."""
    (base / "site").mkdir()
    (base / "site" / "a.txt").write_text("a")
    return "./site"


def test_an_asynchronous_service_type_checks(tmp_path: Path) -> None:
    async def serve() -> None:
        async with Callboard("memory:", base=tmp_path, publishing=PUBLISHING) as board:
            publisher = board.publisher("site")
            package: Package = await publisher.publish(folder(tmp_path), ["/"], at="/site", request_id="1")
            async with board.subscriber("edge", "out", editable=True, after_import=changed) as edge:
                await edge.caught_up()
                assert (await edge.report()).offset == package.offset
                assert await board.clear_all("site", first=1) == ()
                assert not (await board.verify("edge", "/site")).differences
                assert [each.accepted for each in (await board.pause("edge"), await board.resume("edge"))] == [True] * 2
            assert (await board.status()).subscribers[0].troubles == ()
            queued: Page[QueuedPackage] = await board.queue("edge")
            failed: Page[FailedPackage] = await board.errors(cursor=(await board.errors()).cursor)
            assert (queued.items, queued.complete, failed.size) == ((), True, 0)
            assert queued.as_of.offset == package.offset + 1
            assert (await board.explain("edge", "/site/a.txt")).subscriber == "edge"
            assert [each.kind async for each in board.events(after=-1, follow=False)] == ["created"]

    asyncio.run(serve())


def test_a_synchronous_service_type_checks(tmp_path: Path) -> None:
    with callboard.sync.Callboard("memory:", base=tmp_path, publishing=PUBLISHING) as board:
        publisher = board.publisher("site")
        package: Package = publisher.publish(folder(tmp_path), ["/"], at="/site", request_id="1")
        with board.subscriber("edge", "out", editable=True, after_import=changed) as edge:
            edge.caught_up()
            assert edge.report().offset == package.offset
            assert board.clear_all("site", first=1) == ()
            assert not board.verify("edge", "/site").differences
            assert [each.accepted for each in (board.pause("edge"), board.resume("edge"))] == [True] * 2
        assert board.status().subscribers[0].troubles == ()
        queued: Page[QueuedPackage] = board.queue("edge")
        failed: Page[FailedPackage] = board.errors(cursor=board.errors().cursor)
        assert (queued.items, queued.complete, failed.size) == ((), True, 0)
        assert [each.offset for each in queued.items] == []
        assert board.explain("edge", "/site/a.txt").subscriber == "edge"
        assert [each.kind for each in board.events(after=-1, follow=False)] == ["created"]
