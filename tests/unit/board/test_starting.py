"""An obstacle to a subscriber is raised before the body of ``with`` runs, and a later failure ends the body."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import callboard.sync
from callboard import Callboard
from callboard.actors.runtime.processes import processes
from callboard.actors.subscriber import roles
from callboard.board import subscriber as subscriber_module
from callboard.errors import (
    AgentFailed,
    ConfigError,
    NotAnswered,
    RepositoryBusy,
    RepositoryOccupied,
    RepositoryUnavailable,
    SubscriberTaken,
)

DEADLINE_S = 60.0


async def occupied(board: Callboard, folder: Path) -> Any:
    (folder / "out").mkdir()
    (folder / "out" / "mine").write_text("mine")
    return board.subscriber("edge", "./out")


async def held(board: Callboard, folder: Path) -> Any:
    await board.subscriber("other", "./out").start()
    return board.subscriber("edge", "./out")


async def taken(board: Callboard, folder: Path) -> Any:
    await board.subscriber("edge", "./out").start()
    return board.subscriber("edge", "./elsewhere")


async def no_folder(board: Callboard, folder: Path) -> Any:
    (folder / "out").write_text("a file")
    return board.subscriber("edge", "./out")


async def no_hook(board: Callboard, folder: Path) -> Any:
    return board.subscriber("edge", "./out", before_import="no_such_module:hook")


async def damaged(board: Callboard, folder: Path) -> Any:
    async with board.subscriber("edge", "./out"):
        pass
    for file in (folder / "out" / ".callboard").iterdir():
        if file.is_file() and file.name != "lock":
            file.write_bytes(b"damaged")
    return board.subscriber("edge", "./out")


@pytest.mark.parametrize(
    ("obstacle", "error", "runtime"),
    [
        (occupied, RepositoryOccupied, "embedded"),
        (occupied, RepositoryOccupied, "processes"),
        (held, RepositoryBusy, "embedded"),
        (taken, SubscriberTaken, "embedded"),
        (taken, SubscriberTaken, "processes"),
        (no_folder, RepositoryUnavailable, "embedded"),
        (no_hook, ConfigError, "embedded"),
        (no_hook, ConfigError, "processes"),
        (damaged, RepositoryUnavailable, "embedded"),
    ],
)
@pytest.mark.proves("F75")
def test_an_obstacle_to_the_start_is_raised_before_the_body_runs(
    tmp_path: Path, obstacle: Callable[..., Awaitable[Any]], error: type[Exception], runtime: Any
) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path, runtime=runtime) as board:
            edge = await obstacle(board, tmp_path)
            for _ in range(2):  # also when it is tried again
                with pytest.raises(error):
                    async with edge:
                        raise AssertionError("the body ran")

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_refused_subscriber_can_start_once_the_obstacle_is_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            first, second = board.subscriber("one", "./out"), board.subscriber("one", "./out")
            await first.start()
            with pytest.raises(RepositoryBusy):
                await second.start()
            await first.stop()
            async with second:
                await second.caught_up()

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_start_takes_no_longer_than_the_claim_needs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            edge = board.subscriber("edge", "./out")
            async with edge:
                assert (await edge.report()).reason != "waits for its name"

    asyncio.run(asyncio.wait_for(scenario(), subscriber_module.ADMISSION_S))


@pytest.mark.parametrize("into", ["./out", "./elsewhere"], ids=["repository", "name"])
def test_a_standby_enters_the_body_while_it_waits(tmp_path: Path, into: str) -> None:
    async def scenario() -> None:
        async with (
            Callboard("sqlite:///./board", base=tmp_path) as board,
            board.subscriber("edge", "./out"),
            board.subscriber("edge", into, standby=True) as other,
        ):
            assert (await other.report()).imported == 0

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_standby_raises_errors_that_waiting_does_not_cure(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            edge = await occupied(board, tmp_path)
            edge = board.subscriber("edge", "./out", standby=True)
            with pytest.raises(RepositoryOccupied):
                async with edge:
                    await asyncio.Event().wait()

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


@pytest.fixture
def given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the supervisor give up after a few restarts, without the waits between them: ten take 15 seconds."""
    monkeypatch.setattr(processes, "LIMITS", replace(processes.LIMITS, backoff_s=(0.0,), max_restarts=2))


async def given_up(edge: Any) -> None:
    """Have its importer killed until the supervisor gives up."""
    agent = await edge.start()
    while not agent.has_ended:
        await agent.kill(roles.IMPORTER)
        await asyncio.sleep(0.01)


@pytest.mark.usefixtures("given_up_soon")
def test_a_later_failure_cancels_the_body_and_is_raised(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
            edge, cleaned = board.subscriber("edge", "./out"), asyncio.Event()

            async def serve() -> None:
                async with edge:
                    ending = asyncio.create_task(given_up(edge))
                    try:
                        await asyncio.Event().wait()
                    finally:
                        cleaned.set()
                        await ending

            with pytest.raises(AgentFailed):
                await serve()
            assert cleaned.is_set()
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            await asyncio.sleep(0)  # nothing of the cancellation is left

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


@pytest.mark.usefixtures("given_up_soon")
def test_the_bodys_own_error_and_the_callers_cancellation_come_first(tmp_path: Path) -> None:
    async def failing(edge: Any) -> None:
        async with edge:
            ending = asyncio.create_task(given_up(edge))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await ending
                raise KeyError("of the body") from None

    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
            with pytest.raises(KeyError) as failed:
                await failing(board.subscriber("one", "./one"))
            assert "subscriber 'one' had ended before: " in failed.value.__notes__[0]

            async def waiting() -> None:
                async with board.subscriber("two", "./two"):
                    entered.set()
                    await asyncio.Event().wait()

            entered = asyncio.Event()
            task = asyncio.create_task(waiting())
            await entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


@pytest.mark.usefixtures("given_up_soon")
def test_without_a_body_ended_raises_the_failure(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
            edge = board.subscriber("edge", "./out")
            await edge.start()
            told = asyncio.create_task(edge.ended())
            await given_up(edge)
            with pytest.raises(AgentFailed):
                await told
            with pytest.raises(AgentFailed):
                await edge.report()
            with pytest.raises(AgentFailed):
                await edge.start()
            await edge.stop()
            with pytest.raises(AgentFailed):
                await edge.ended()
            await edge.start()
            await edge.stop()
            await edge.ended()

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_stopping_a_subscriber_ends_its_waiting_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board, board.subscriber("edge", "./out"):
            other = board.subscriber("other", "./out")
            starting = asyncio.create_task(other.start())
            while other._agent is None:
                assert not starting.done()
                await asyncio.sleep(0)
            await other.stop()
            with pytest.raises(NotAnswered):
                await starting

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


@pytest.mark.usefixtures("given_up_soon")
def test_the_synchronous_api_raises_before_the_body_and_after_it(tmp_path: Path) -> None:
    told: list[BaseException] = []

    def serve(edge: callboard.sync.Subscriber) -> None:
        def wait() -> None:
            try:
                edge.ended()
            except AgentFailed as error:
                told.append(error)

        with edge:
            waiting = threading.Thread(target=wait)
            waiting.start()
            deadline = time.monotonic() + DEADLINE_S
            agent = edge.start()
            while waiting.is_alive():
                agent.kill(roles.IMPORTER)
                assert time.monotonic() < deadline
            assert told

    with callboard.sync.Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
        edge, other = board.subscriber("edge", "./out"), board.subscriber("other", "./out")
        with edge, pytest.raises(RepositoryBusy), other:
            raise AssertionError("the body ran")
        with pytest.raises(AgentFailed):
            serve(edge)
