"""A board survives failures of its agents and resources."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.core.agent import Agent, AgentSpec
from callboard.actors.runtime import start_agent
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.log import Bounds
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.read.status import metrics
from callboard.errors import LogUnavailable


def held_files(folder: Path) -> list[str]:
    links = list(Path("/proc/self/fd").iterdir())
    return [where for link in links if link.is_symlink() and (where := str(link.readlink())).startswith(str(folder))]


def test_cancelling_the_opening_or_closing_of_a_board_at_any_step_leaves_nothing_open(tmp_path: Path) -> None:
    async def cancel_after(steps: int, task: asyncio.Task[Any]) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})

    async def scenario() -> None:
        for steps in range(0, 40, 2):
            board = Callboard("sqlite:///./board", base=tmp_path)
            await cancel_after(steps, asyncio.create_task(board.__aenter__()))
            await board.close()
            assert not held_files(tmp_path), steps
            async with board:
                await board.publisher("site").test()
                await cancel_after(steps, asyncio.create_task(board.close()))
            assert not held_files(tmp_path), steps

    asyncio.run(scenario())


def test_the_next_request_restarts_a_publisher_whose_agent_has_ended() -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            first = await board.publisher("site").start()
            await first.stop(0)
            offset = (await board.publisher("site").test()).offset
            assert [row.name for row in (await board.status()).publishers] == []
            assert (await board.publisher("site").test()).offset == offset + 1
            assert await board.publisher("site").start() is await board.context.viewer() is not first

    asyncio.run(scenario())


def test_the_next_request_retries_a_start_that_failed_for_want_of_a_process() -> None:
    failures = [BlockingIOError("no process to be had")]

    async def short_of_processes(spec: AgentSpec, _: SubscriberSettings | None) -> Agent:
        if failures:
            raise failures.pop()
        return await start_agent(spec)

    async def scenario() -> None:
        resources = Resources(BoardSettings("memory:"))
        async with Callboard.on(BoardContext(resources, Agents(resources, start=short_of_processes))) as board:
            started = await asyncio.gather(*(board.publisher("site").start() for _ in range(3)), return_exceptions=True)
            assert [type(each) for each in started] == [BlockingIOError] * 3
            agents = await asyncio.gather(*(board.publisher("site").start() for _ in range(3)))
            assert len(set(agents)) == 1

    asyncio.run(scenario())


def test_metrics_are_available_while_another_publisher_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            counters = metrics.counters

            async def meanwhile(*args: Any) -> dict[str, int]:
                await board.publisher("late").start()
                return await counters(*args)

            monkeypatch.setattr(metrics, "counters", meanwhile)
            await board.publisher("site").start()
            assert 'callboard_queue_cache_entries{publisher="site"}' in await board.metrics()

    asyncio.run(scenario())


def test_a_log_that_cannot_be_closed_leaves_nothing_else_open(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def fail() -> None:
        raise LogUnavailable("it is gone")

    async def close() -> None:
        closed.append("blobs")

    async def scenario() -> str:
        async with Callboard("memory:") as board:
            folder = board.settings.blobs
            monkeypatch.setattr(board.log, "close", fail)
            monkeypatch.setattr(board.blobs, "close", close)
            with pytest.raises(LogUnavailable, match="it is gone"):
                await board.close()
            return folder

    folder = asyncio.run(scenario())
    assert closed == ["blobs"]
    assert not Path(folder).exists()


QUESTIONS: dict[str, Callable[[Callboard], Awaitable[Any]]] = {
    "status": lambda board: board.status(),
    "cohorts": lambda board: board.cohorts(),
    "queue": lambda board: board.queue("edge-1"),
    "errors": lambda board: board.errors(),
    "clear": lambda board: board.clear("edge-1"),
    "explain": lambda board: board.explain("edge-1", "/a"),
    "packages": lambda board: board.publisher("site").packages(),
    "caught_up": lambda board: board.subscriber("edge-2", "./out").caught_up(0.5),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_an_unavailable_log_blocks_fails_long_before_its_timeout(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: Any) -> Any:
        raise LogUnavailable("the disk of the log is gone")

    async def scenario() -> None:
        async with asyncio.timeout(25), Callboard("memory:", base=tmp_path) as board:
            for method in ("bounds", "read", "append", "wait", "identity"):
                monkeypatch.setattr(board.log, method, fail)
            with pytest.raises(LogUnavailable, match="the disk of the log is gone"):
                await QUESTIONS[question](board)

    asyncio.run(scenario())


def test_a_brief_failure_of_the_log_does_not_prevent_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            bounds, failures = board.log.bounds, [LogUnavailable("in passing")] * 4

            async def fail_first(topic: str) -> Bounds:
                if failures:
                    raise failures.pop()
                return await bounds(topic)

            monkeypatch.setattr(board.log, "bounds", fail_first)
            assert (await board.status()).subscribers == ()

    asyncio.run(scenario())
