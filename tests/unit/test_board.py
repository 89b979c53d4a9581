"""A board outlives what its agents and resources run into."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.app import board as board_module
from callboard.app import metrics
from callboard.errors import LogUnavailable


def test_a_publisher_whose_agent_has_ended_is_started_again_by_the_next_request() -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            first = await board.publisher("site").start()
            await first.stop(0)
            offset = (await board.publisher("site").test()).offset
            assert [row.name for row in (await board.status()).publishers] == []
            assert (await board.publisher("site").test()).offset == offset + 1
            assert await board.publisher("site").start() is await board.viewer() is not first

    asyncio.run(scenario())


def test_a_start_that_failed_for_want_of_a_process_is_tried_again_by_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, failures = board_module.start_agent, [BlockingIOError("no process to be had")]

    async def short_of_processes(*args: Any, **kwargs: Any) -> Any:
        if failures:
            raise failures.pop()
        return await start(*args, **kwargs)

    async def scenario() -> None:
        async with Callboard("memory:") as board:
            started = await asyncio.gather(*(board.publisher("site").start() for _ in range(3)), return_exceptions=True)
            assert [type(each) for each in started] == [BlockingIOError] * 3
            agents = await asyncio.gather(*(board.publisher("site").start() for _ in range(3)))
            assert len(set(agents)) == 1

    monkeypatch.setattr(board_module, "start_agent", short_of_processes)
    asyncio.run(scenario())


def test_figures_can_be_had_while_another_publisher_starts(monkeypatch: pytest.MonkeyPatch) -> None:
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
            monkeypatch.setattr(board.log, "close", fail)
            monkeypatch.setattr(board.blobs, "close", close)
            with pytest.raises(LogUnavailable, match="it is gone"):
                await board.close()
            return board.settings.blobs

    folder = asyncio.run(scenario())
    assert closed == ["blobs"]
    assert not Path(folder).exists()
