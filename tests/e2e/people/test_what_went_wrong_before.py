"""Races and bugs of the original, which callboard does not have."""

import asyncio
import threading
from pathlib import Path

import pytest

from callboard import Callboard, ConfigError
from callboard.actors.core.backoff import Backoff
from callboard.actors.core.hooks import HookCall
from callboard.messages.distribution.topic_messages import LogMessage
from callboard.messages.headers import new_record


def site(folder: Path, *names: str) -> Path:
    root = folder / "site"
    root.mkdir(exist_ok=True)
    for name in names:
        (root / name).write_text(name)
    return root


@pytest.mark.proves("W2", "F73")
def test_a_new_subscriber_that_stops_before_its_first_import_misses_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            publisher = board.publisher("site")
            await publisher.publish(site(tmp_path, "old"))
            async with board.subscriber("edge-1", "./out", start="latest") as edge:
                await edge.caught_up()
            for name in "abcde":
                await publisher.publish(site(tmp_path, name), [f"/{name}"])
            async with board.subscriber("edge-1", "./out", start="latest") as edge:
                await edge.caught_up()
                report = await edge.report()
                assert report.imported + report.superseded == 5
        assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_file()) == list("abcde")

    asyncio.run(play())


@pytest.mark.proves("R9")
def test_stopping_one_agent_leaves_resources_that_others_share(tmp_path: Path) -> None:
    async def play() -> None:
        async with (
            Callboard("sqlite:///./board", base=tmp_path) as board,
            board.subscriber("edge-1", "./one") as one,
            board.subscriber("edge-2", "./two") as other,
        ):
            await board.publisher("site").publish(site(tmp_path, "a"))
            await one.caught_up()
            await one.stop()
            await board.publisher("shop").publish(site(tmp_path, "b"), ["/b"])
            await other.caught_up()
            assert (tmp_path / "two" / "b").read_text() == "b"
            assert (await board.queue("edge-2")).size == 0

    asyncio.run(play())


@pytest.mark.proves("R10")
def test_boards_subscribers_and_logs_may_be_closed_twice(tmp_path: Path) -> None:
    async def play() -> None:
        board = Callboard("sqlite:///./board", base=tmp_path)
        async with board:
            await board.publisher("site").publish(site(tmp_path, "a"))
            async with board.subscriber("edge-1", "./out") as edge:
                await edge.stop()
                await edge.stop()
            await board.close()
        await board.close()

    asyncio.run(play())


@pytest.mark.proves("R13")
def test_any_exception_of_an_invalidation_counts_as_a_failed_attempt(tmp_path: Path) -> None:
    attempts: list[int] = []

    def purge(call: HookCall) -> None:
        attempts.append(call.attempt)
        if call.attempt < 3:
            raise ZeroDivisionError("unexpected")

    async def play() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            quick = Backoff(0.01, 0.01)
            async with board.subscriber("edge-1", "./out", on_invalidate=purge, retry=quick) as edge:
                await board.publisher("site").invalidate(["/a"])
                await edge.caught_up()
                await board.publisher("site").publish(site(tmp_path, "a"))
                await edge.caught_up()
                assert (await edge.report()).imported == 2

    asyncio.run(play())
    assert attempts == [1, 2, 3]


@pytest.mark.proves("R17")
@pytest.mark.parametrize("name", ["", " ", "a/b", "\n", "x" * 101])
def test_an_invalid_name_is_refused(name: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            with pytest.raises(ConfigError, match="but should be a name"):
                board.subscriber(name, "./out")
            with pytest.raises(ConfigError, match="but should be a name"):
                board.publisher(name)

    asyncio.run(play())


@pytest.mark.proves("R18")
def test_a_subscriber_that_waits_for_a_retry_in_an_hour_stops_at_once(tmp_path: Path) -> None:
    tried = threading.Event()

    def refuse(call: HookCall) -> None:
        tried.set()
        raise OSError("no")

    async def play() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            await board.publisher("site").publish(site(tmp_path, "a"))
            hourly = Backoff(3600, 3600)
            async with board.subscriber("edge-1", "./out", before_import=refuse, retry=hourly, stop_drain_s=3600):
                assert await asyncio.to_thread(tried.wait, 60)
            (row,) = (await board.status()).subscribers
            assert row.liveness == "stopped"

    asyncio.run(play())


@pytest.mark.proves("R19")
def test_each_line_of_a_publishers_log_has_the_time_of_its_event(tmp_path: Path) -> None:
    async def play() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            topic = board.settings.topics.discovery
            await board.publisher("site").delete(["/a"])
            for number in range(3):
                said = LogMessage(publisher="site", subscriber_instance="i", subscriber="edge-1", message=f"{number}")
                record = new_record(said, record_id=f"r-{number}", time_ns=number, producer="edge-1")
                await board.log.append(topic, [record])
            times_ns = [record.time_ns for record in await board.log.read(topic, (await board.log.bounds(topic)).first)]
            assert len(set(times_ns)) == 3
            lines = await board.publisher("site").log()
            assert [line.time_ns for line in lines if line.subscriber] == times_ns

    asyncio.run(play())
