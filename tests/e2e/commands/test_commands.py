"""Commands to subscribers, from a service and from the command line, through a real log to real repositories."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.core.backoff import Backoff
from callboard.board.views import SubscriberStatus
from callboard.errors import ConfigError
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.signing import SigningKey
from tests.refused import refused

DEADLINE_S = 60.0
KEY = SigningKey("ops", b"0123456789abcdef")
SLOW = Backoff(first_s=600.0, max_s=600.0)
"""Longer than any test waits: a retry before then was triggered by a command."""


@asynccontextmanager
async def board_in(folder: Path, **settings: object) -> AsyncIterator[Callboard]:
    async with Callboard("sqlite:///./board.db", base=folder, **settings) as board:  # type: ignore[arg-type]
        yield board


async def publish(board: Callboard, folder: Path, name: str, text: str, publisher: str = "site") -> int:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / name).write_text(text)
    return (await board.publisher(publisher).publish(source, [f"/{name}"])).offset


async def until(board: Callboard, name: str, condition: Callable[[SubscriberStatus], bool]) -> SubscriberStatus:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        rows = {row.name: row for row in (await board.status()).subscribers}
        if name in rows and condition(rows[name]):
            return rows[name]
        assert time.monotonic() < deadline, rows
        await asyncio.sleep(0.1)


def on_a_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """The asynchronous test, run to its end."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


@pytest.mark.proves("F48", "F50", "F84", "F85")
@on_a_loop
async def test_pause_clear_and_resume_are_confirmed_and_take_effect(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        await publish(board, tmp_path, "a", "one")
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            paused = await board.pause("edge-1", reason="maintenance", author="ann")
            assert (paused.accepted, paused.command) == (True, "pause")
            offsets = [await publish(board, tmp_path, "a", text) for text in ("two", "three", "four")]
            row = await until(board, "edge-1", lambda row: row.state == "paused" and row.lag_packages == 3)
            assert "paused by ann: maintenance" in row.reason
            cleared = await board.clear("edge-1", first=2, reason="not needed")
            assert (cleared.accepted, cleared.packages, cleared.offset) == (True, 2, offsets[1])
            assert (await board.resume("edge-1")).accepted is True
            await edge.caught_up()
        assert (tmp_path / "out" / "a").read_text() == "four"
        report = await until(board, "edge-1", lambda row: row.liveness == "stopped")
        assert (report.imported, report.cleared) == (2, 2)


@pytest.mark.proves("F49", "F79", "W23")
@on_a_loop
async def test_a_stuck_head_is_retried_or_skipped_at_once(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        flag = tmp_path / "fail"
        flag.touch()

        def picky(package: object) -> None:
            if flag.exists():
                raise RuntimeError("not yet")

        await publish(board, tmp_path, "a", "one")
        async with board.subscriber("edge-1", into="./out", editable=True, retry=SLOW, before_import=picky) as edge:
            await until(board, "edge-1", lambda row: row.state == "retrying")
            flag.unlink()
            assert (await board.retry("edge-1")).packages == 1
            await edge.caught_up()
            flag.touch()
            offset = await publish(board, tmp_path, "a", "two")
            await until(board, "edge-1", lambda row: row.state == "retrying" and row.head_offset == offset)
            skipped = await board.skip("edge-1", reason="beyond repair")
            assert (skipped.accepted, skipped.offset) == (True, offset)
            await edge.caught_up()
        assert (tmp_path / "out" / "a").read_text() == "one"


@pytest.mark.proves("W30")
@on_a_loop
async def test_with_keys_only_signed_commands_are_carried_out(tmp_path: Path) -> None:
    async with board_in(tmp_path, signing_key=KEY, trusted_keys=(KEY,)) as board:
        await publish(board, tmp_path, "a", "one")
        async with board.subscriber("edge-1", into="./out") as edge:
            await edge.caught_up()
            async with board_in(tmp_path) as stranger:
                refused = await stranger.pause("edge-1")
                assert refused.accepted is False
                assert "not signed" in refused.reason
            assert (await board.pause("edge-1")).accepted is True


@on_a_loop
async def test_a_command_to_an_unknown_subscriber_is_refused_unless_forced_and_then_waits_for_it(
    tmp_path: Path,
) -> None:
    async with board_in(tmp_path) as board:
        await publish(board, tmp_path, "a", "one")
        with refused("unknown_name"):
            await board.pause("edge-1")
        forced = await board.pause("edge-1", force=True)
        assert forced.accepted is None
        assert "was never heard of; it gets the command when it starts" in forced.reason
        async with board.subscriber("edge-1", into="./out"):
            row = await until(board, "edge-1", lambda row: row.state == "paused")
            assert row.imported == 0


@pytest.mark.parametrize("name", ["édge one", "a'b\"c", "über;--", "x" * 100, "名前"])
@on_a_loop
async def test_subscribers_with_unusual_names_can_be_commanded(tmp_path: Path, name: str) -> None:
    async with board_in(tmp_path) as board, board.subscriber(name, into="./out") as edge:
        await edge.caught_up()
        assert (await board.pause(name)).accepted is True


@pytest.mark.parametrize("name", ["", "a/b", " a", "a\nb", "\u202egde", "x" * 101])
def test_invalid_subscriber_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="but should be a name"):
        Callboard("memory:").subscriber(name, into="./out")


@pytest.mark.proves("F56")
@on_a_loop
async def test_clearing_all_sends_a_command_to_each_editable_subscriber_with_a_queue(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        edges = [board.subscriber(f"edge-{n}", into=f"./out-{n}", editable=n > 0) for n in range(3)]
        for edge in edges:
            await edge.start()
            await edge.caught_up()
            await board.pause(edge.name)
        offset = await publish(board, tmp_path, "a", "one")
        await until(board, "edge-2", lambda row: row.lag_packages == 1)
        results = await board.clear_all(reason="all of it")
        assert [(result.subscriber, result.packages, result.offset) for result in results] == [
            ("edge-1", 1, offset), ("edge-2", 1, offset),
        ]  # fmt: skip
        for edge in edges[1:]:
            await until(board, edge.name, lambda row: row.lag_packages == 0)
        assert await board.clear_all() == ()
        for edge in edges:
            await edge.stop()


@pytest.mark.proves("F56")
@on_a_loop
async def test_clearing_the_first_package_of_a_cohort_clears_it_at_all_and_the_others_are_imported(
    tmp_path: Path,
) -> None:
    async with board_in(tmp_path) as board:
        edges = [board.subscriber(f"edge-{n}", into=f"./out-{n}", editable=True) for n in range(2)]
        for edge in edges:
            await edge.start()
            await edge.caught_up()
            await board.pause(edge.name)
        poison = await publish(board, tmp_path, "a", "poison")
        await publish(board, tmp_path, "b", "good")
        results = await board.clear_all(first=1)
        assert [(result.subscriber, result.packages, result.offset) for result in results] == [
            ("edge-0", 1, poison), ("edge-1", 1, poison),
        ]  # fmt: skip
        for edge in edges:
            await board.resume(edge.name)
            await edge.caught_up()
            await edge.stop()
        assert [sorted(path.name for path in (tmp_path / f"out-{n}").glob("[ab]")) for n in range(2)] == [["b"], ["b"]]


@on_a_loop
async def test_ten_thousand_queued_packages_are_cleared_and_counted(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            await board.pause("edge-1")
        await fill(board, 10_000)
        async with board.subscriber("edge-1", into="./out", editable=True):
            await until(board, "edge-1", lambda row: row.liveness == "live" and row.state == "paused")
            cleared = await board.clear("edge-1", timeout_s=110)
            assert (cleared.accepted, cleared.packages) == (True, 10_000)


async def fill(board: Callboard, count: int) -> None:
    records = [
        new_record(
            PackageMessage(
                publisher_instance="i", publisher="site", package_id=f"p{n}", kind=Kind.DELETE, paths=("/x",)
            ),
            record_id=f"r{n}",
            time_ns=time.time_ns(),
            producer="test",
        )
        for n in range(count)
    ]
    for start in range(0, count, 1000):
        await board.log.append(board.settings.topics.package, records[start : start + 1000])


@pytest.mark.proves("F86", "F87", "W13")
@on_a_loop
async def test_a_staged_subscriber_imports_and_skips_what_the_golden_one_does(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        golden = board.subscriber("edge-0", into="./golden", editable=True)
        async with board.subscriber("edge-1", into="./out", golden="edge-0", expect=True) as staged:
            first = await publish(board, tmp_path, "a", "one")
            row = await until(board, "edge-1", lambda row: row.state == "staged")
            assert f"waits for edge-0's verdict on offset {first}" in row.reason
            await golden.start()
            await staged.caught_up()
            assert (tmp_path / "out" / "a").read_text() == "one"
            await board.pause("edge-0")
            await publish(board, tmp_path, "a", "two")
            await until(board, "edge-0", lambda row: row.lag_packages == 1)
            await board.clear("edge-0", reason="wrong")
            third = await publish(board, tmp_path, "b", "three")
            await board.resume("edge-0")
            await staged.caught_up()
            await golden.stop()
        assert (tmp_path / "out" / "a").read_text() == "one"
        assert (tmp_path / "out" / "b").read_text() == "three"
        row = await until(board, "edge-1", lambda row: row.offset == third)
        assert (row.imported, row.cleared) == (2, 0)


@on_a_loop
async def test_a_subscriber_cannot_be_its_own_golden_subscriber(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        with pytest.raises(ConfigError, match="its own verdicts"):
            board.subscriber("edge-1", into="./out", golden="edge-1")
