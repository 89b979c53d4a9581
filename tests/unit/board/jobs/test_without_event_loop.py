"""Jobs of a board without an event loop, or whose process was forked while it was open."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import callboard.sync
from callboard import Callboard, JobRegistry, JobState
from callboard.errors import CallboardError

WAIT_S = 30.0
FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
DEADLINE_S = 30
ADVICE = "ConfigError: this board was opened before a fork; open one in the child, or use spawn"

jobs = JobRegistry()


@jobs.job("add")
def add(numbers: list[int]) -> int:
    """Runs in a thread."""
    return sum(numbers)


def test_jobs_are_added_run_and_commanded_without_an_event_loop(tmp_path: Path) -> None:
    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        late = board.jobs.add("add", [0], delay_s=3600)
        assert board.jobs.drop(late.id) == (late.id,)
        board.jobs.configure("sums", ["add"], parallel=2)
        with board.jobs.worker(jobs, slots=2):
            added = board.jobs.add_all(add.new([number, 1]) for number in range(5))
            assert [board.jobs.wait(job.id, WAIT_S).result for job in added] == [1, 2, 3, 4, 5]
        assert [job.id for job in board.jobs.find(JobState.DROPPED).items] == [late.id]
        queues = next(iter(board.jobs.watch()))
        assert [(each.name, each.ended) for each in queues] == [("main", 0), ("sums", 6)]
        assert queues == board.jobs.queues()


def said_by_child(calls: list[Callable[[], object]]) -> list[str]:
    """What a forked child gets as answers to these calls."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(DEADLINE_S)
        try:
            for call in calls:
                try:
                    answer = f"{call()}"
                except CallboardError as error:
                    answer = f"{type(error).__name__}: {error}"
                os.write(writing, f"{answer}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        said = answers.read().splitlines()
    os.waitpid(child, 0)
    return said


def run(work: Callable[[], Coroutine[Any, Any, object]]) -> object:
    return asyncio.run(work())


async def nothing() -> None:
    pass


@FORKS
@pytest.mark.parametrize("log", ["memory:", "sqlite:///./board.db"])
def test_a_forked_child_neither_adds_jobs_nor_runs_them_and_is_told_why(tmp_path: Path, log: str) -> None:
    async def in_worker(board: Callboard) -> None:
        async with board.jobs.worker({"a": nothing}):
            pass

    async def scenario() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard(log, base=tmp_path) as board:
            first = await board.jobs.add("a")
            loop = asyncio.get_running_loop()

            def in_child() -> list[str]:
                works = (lambda: board.jobs.add("a"), lambda: board.jobs.get(first.id), lambda: in_worker(board))
                return said_by_child([partial(run, work) for work in works])

            assert await loop.run_in_executor(None, in_child) == [ADVICE] * 3
            assert [job.id for job in (await board.jobs.find()).items] == [first.id]

    asyncio.run(scenario())


@FORKS
def test_a_forked_child_of_a_service_without_event_loop_is_told_why_instead_of_waiting(tmp_path: Path) -> None:
    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        board.jobs.add("a")
        assert said_by_child([lambda: board.jobs.add("a"), board.jobs.queues, board.close]) == [ADVICE, ADVICE, "None"]
        assert len(board.jobs.find().items) == 1
