"""The content of a subscriber is compared with the log, and differences are repaired at that subscriber alone."""

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.backends.log import Retention
from callboard.board.care.verifying import Verified
from callboard.board.subscriber import Subscriber
from callboard.errors import NotAnswered
from callboard.messages.distribution.topic_messages import DiscoveryMessage, SubscriberConfiguration
from callboard.messages.headers import new_record
from tests.refused import refused


class Stage:
    """A board with two subscribers that have imported a site, a change of it, and a removal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site, self.out, self.other = (folder / name for name in ("site", "out-1", "out-2"))
        self.board = Callboard(f"sqlite:///{folder}/board.db")
        self.edges: list[Subscriber] = []

    async def fill(self) -> None:
        (self.site / "blog").mkdir(parents=True)
        (self.site / "large.bin").write_bytes(os.urandom(200_000))
        for name in ("a", "b", "c"):
            (self.site / "blog" / name).write_text(name)
        (self.site / "link").symlink_to("blog/a")
        shipped = self.board.publisher("site")
        await shipped.publish(self.site)
        (self.site / "blog" / "a").write_text("changed")
        await shipped.publish(self.site, ("/blog/a",), deep=False)
        (self.site / "blog" / "c").unlink()
        await shipped.delete(("/blog/c",))
        await self.caught_up()

    async def caught_up(self) -> None:
        for edge in self.edges:
            await edge.caught_up(60)

    def damage(self) -> None:
        """Make a change of each kind at edge-1, by hand."""
        (self.out / "blog" / "a").write_text("by hand")
        (self.out / "blog" / "b").unlink()
        (self.out / "blog" / "extra").mkdir()
        (self.out / "blog" / "extra" / "file").write_text("by hand")
        (self.out / "link").unlink()
        (self.out / "link").symlink_to("blog/b")
        (self.out / "large.bin").unlink()

    async def verify(self, *paths: str) -> Verified:
        return await self.board.verify("edge-1", *paths, timeout_s=60)


DAMAGE = [
    ("/blog/a", "differs", 2),
    ("/blog/b", "missing", 1),
    ("/blog/extra", "extra", 1),
    ("/blog/extra/file", "extra", 1),
    ("/large.bin", "missing", 1),
    ("/link", "differs", 1),
]


@pytest.fixture
def on_stage(tmp_path):
    def run(scenario: Callable[[Stage], Awaitable[None]]) -> None:
        async def body() -> None:
            stage = Stage(tmp_path)
            async with (
                stage.board as board,
                board.subscriber("edge-1", stage.out) as one,
                board.subscriber("edge-2", stage.other) as two,
            ):
                stage.edges = [one, two]
                await stage.fill()
                await scenario(stage)

        asyncio.run(body())

    return run


def told(found: Verified) -> list[tuple]:
    return [(each.path, each.what, each.offset) for each in found.differences]


def tree(folder: Path) -> dict[str, object]:
    def content(path: Path) -> object:
        return path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()

    paths = [path for path in folder.rglob("*") if ".callboard" not in path.parts]
    return {path.relative_to(folder).as_posix(): content(path) for path in paths}


def test_verify_finds_no_difference_at_an_intact_subscriber(on_stage):
    async def scenario(stage: Stage) -> None:
        found = await stage.verify()
        assert (told(found), found.unknown, found.problems, found.offset) == ([], 0, (), 3)
        assert await stage.board.repair("edge-1", found) == ()

    on_stage(scenario)


def test_every_manual_change_is_reported_with_the_package_that_should_be_there(on_stage):
    async def scenario(stage: Stage) -> None:
        stage.damage()
        assert told(await stage.verify()) == DAMAGE
        assert told(await stage.verify("/blog/extra", "/link")) == [DAMAGE[2], DAMAGE[3], DAMAGE[5]]

    on_stage(scenario)


@pytest.mark.parametrize("source", ["the log", "the site"])
def test_a_repair_ships_only_what_differs_to_only_that_subscriber_and_once_is_enough(on_stage, source):
    async def scenario(stage: Stage) -> None:
        stage.damage()
        (stage.other / "blog" / "b").write_text("a repair must not touch edge-2")
        found = await stage.verify()
        place = stage.site if source == "the site" else ""
        planned = await stage.board.repair("edge-1", found, source=place, dry_run=True)
        assert [(each.kind, each.paths, each.offset) for each in planned] == [
            ("DELETE", ("/blog/extra", "/blog/extra/file"), -1),
            ("ADD", ("/blog/a", "/blog/b", "/large.bin", "/link"), -1),
        ]
        assert (await stage.verify()).differences == found.differences
        done = await stage.board.repair("edge-1", found, source=place)
        assert [each.offset for each in done] == [4, 5]
        await stage.caught_up()
        after = await stage.verify()
        assert (told(after), await stage.board.repair("edge-1", after)) == ([], ())
        assert tree(stage.out) == tree(stage.site)
        assert (stage.other / "blog" / "b").read_text() == "a repair must not touch edge-2"

    on_stage(scenario)


@pytest.mark.proves("W3")
def test_content_of_trimmed_packages_is_unknown_and_no_difference(on_stage):
    async def scenario(stage: Stage) -> None:
        await stage.board.trim(Retention(below_offset=2))
        found = await stage.verify()
        assert (told(found), found.first) == ([], 2)
        assert found.unknown == 3  # b, the large file and the link: what the first package brought alone
        (stage.out / "blog" / "a").unlink()
        assert told(await stage.verify()) == [("/blog/a", "missing", 2)]

    on_stage(scenario)


def test_missing_content_can_only_be_repaired_from_a_source(on_stage):
    async def scenario(stage: Stage) -> None:
        (stage.out / "large.bin").unlink()
        found = await stage.verify()
        shutil.rmtree(stage.folder / "board.db" / "blobs")
        with refused("gone"):
            await stage.board.repair("edge-1", found)
        [done] = await stage.board.repair("edge-1", found, source=stage.site)
        assert done.offset == 4
        await stage.caught_up()
        assert tree(stage.out) == tree(stage.site)

    on_stage(scenario)


def test_an_unknown_subscriber_cannot_be_verified(on_stage):
    async def scenario(stage: Stage) -> None:
        with refused("unknown_name"):
            await stage.board.verify("edge-9")

    on_stage(scenario)


def test_verify_does_not_wait_for_a_subscriber_that_falls_silent(tmp_path):
    async def work() -> None:
        async with Callboard(base=tmp_path) as board:
            configuration = SubscriberConfiguration(editable=False, max_retries=-1)
            announcement = DiscoveryMessage(
                subscriber_instance="s", subscriber="edge-1", configuration=configuration, lease_ms=3000
            )
            word = new_record(announcement, record_id="1", time_ns=time.time_ns(), producer="edge-1/s")
            await board.log.append(board.settings.topics.discovery, [word])
            with pytest.raises(NotAnswered, match="edge-1 is silent, and only a running subscriber"):
                await board.verify("edge-1")

    asyncio.run(work())


def test_verify_and_repair_work_at_the_command_line(terminal):
    terminal.run("publish", "./site")
    process = terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["offset"] == 1)
    assert "0 differences" in terminal.out("verify", "edge-1")
    (terminal.folder / "out" / "index.html").write_text("by hand")
    assert "/index.html" in terminal.run("verify", "edge-1", code=1).stdout
    assert "ADD of 1 path of main would be shipped" in terminal.out("repair", "edge-1", "--dry-run")
    assert "ADD of 1 path of main is at offset 2" in terminal.out("repair", "edge-1")
    terminal.until("edge-1", lambda row: row["offset"] == 2)
    assert terminal.json("verify", "edge-1")["differences"] == []
    process.terminate()
    process.wait(60)
    commands = terminal.json("log", "list", "--topic", "command")["items"]
    assert "edge-1 is stopped, and only a running subscriber" in terminal.refused("verify", "edge-1", code=4)
    assert terminal.json("log", "list", "--topic", "command")["items"] == commands, "nothing is left for later"
