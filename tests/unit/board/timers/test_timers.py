"""Timers that call functions, on a board in memory."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import callboard.sync
from callboard import Callboard, RequestRefused, Timers
from callboard.board.jobs.board_jobs import BoardJobs
from tests.unit.board.jobs.test_jobs import run

WAIT_S = 30.0


@pytest.mark.proves("J84")
def test_functions_are_called_at_their_times_and_again_after_they_failed(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        called = asyncio.Queue[str]()

        async def fail() -> None:
            called.put_nowait("fails")
            raise ValueError("x")

        async with jobs.timers() as timers:
            timers.set("now", lambda: asyncio.run_coroutine_threadsafe(called.put("now"), loop).result())
            assert await called.get() == "now"
            timers.set("fails", fail, every_s=0.01, times=3)
            assert [await called.get() for _ in range(3)] == ["fails"] * 3
            timers.set("later", fail, at=datetime(2099, 1, 1, tzinfo=UTC), every_s=60)
            timers.set("cron", fail, cron="0 3 * * *", zone="Europe/Berlin", now=True)
            assert await called.get() == "fails"
            assert [each.name for each in timers.timers()] == ["cron", "later"]
            assert timers.remove("later")
            assert not timers.remove("later")

    async def within(jobs: BoardJobs) -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        await scenario(jobs)

    loop: asyncio.AbstractEventLoop
    run(tmp_path, within)


def test_ten_thousand_timers_that_are_due_at_once_are_called_once_each() -> None:
    now_ms, calls = 10**12, list[int]()

    async def call(number: int) -> None:
        calls.append(number)
        await asyncio.sleep(0)

    async def scenario() -> None:
        nonlocal now_ms
        async with asyncio.timeout(WAIT_S), Timers(lambda: now_ms) as timers:
            for number in range(10_000):
                timers.set(f"t{number}", partial(call, number), every_s=3600)
            assert not calls
            now_ms += 3 * 3600 * 1000  # as if the process had been suspended
            timers.set("last", partial(call, -1))
            while len(calls) < 10_001:  # noqa: ASYNC110 - until all are called
                await asyncio.sleep(0)
            assert sorted(calls) == list(range(-1, 10_000))
            await asyncio.sleep(0)
            assert {each.running for each in timers.timers()} == {0}

    asyncio.run(scenario())


@pytest.mark.proves("J85")
@pytest.mark.parametrize("concurrent", [False, True])
def test_a_function_that_still_runs_is_called_again_when_it_has_ended_or_at_once(
    tmp_path: Path, concurrent: bool
) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        begun, may_end = asyncio.Semaphore(0), asyncio.Event()
        running = most = 0

        async def work() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            begun.release()
            await may_end.wait()
            running -= 1

        async with jobs.timers() as timers:
            timers.set("t", work, every_s=0.01, concurrent=concurrent)
            await begun.acquire()
            if concurrent:
                await begun.acquire()
            else:
                await until_due_again(timers)
            may_end.set()
            await begun.acquire()
        assert (most > 1) is concurrent

    run(tmp_path, scenario)


async def until_due_again(timers: Timers) -> None:
    [first] = timers.timers()
    assert first.running == 1
    async with asyncio.timeout(WAIT_S):
        while timers.timers()[0].next_ms == first.next_ms:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)


@pytest.mark.proves("J87", "J88")
def test_a_timer_replaces_the_one_of_its_name_and_all_end_with_their_service(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        called, ended = asyncio.Queue[int](), asyncio.Event()

        async def hang() -> None:
            called.put_nowait(3)
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with jobs.timers() as timers:
            timers.set("t", lambda: None, every_s=3600)
            timers.set("t", hang)
            timers.set("u", hang, every_s=3600, now=True)
            assert [await called.get(), await called.get()] == [3, 3]
            assert [each.name for each in timers.timers()] == ["u"]
        assert ended.is_set()
        assert called.empty()

    run(tmp_path, scenario)


@pytest.mark.proves("J86")
def test_timers_run_on_members_without_an_event_loop(tmp_path: Path) -> None:
    called = SimpleQueue[str]()
    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        with board.member(instance="a") as member, board.jobs.timers(member.topology) as timers:
            member.settled()
            timers.set("elsewhere", lambda: called.put("elsewhere"), run_on=["b"])
            for where in ("leader", "single", ["a"]):
                timers.set(str(where), partial(called.put, str(where)), run_on=where)
            assert {called.get(timeout=WAIT_S) for _ in range(3)} == {"leader", "single", "['a']"}
        assert called.empty()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"cron": "0 3 * * *", "every_s": 5}, "either cron, or every_s and at"),
        ({"now": True, "at": datetime(2099, 1, 1, tzinfo=UTC)}, "either now or at a time"),
        ({"at": datetime(2020, 1, 1, tzinfo=UTC)}, "which is past"),
        ({"cron": "61 * * * *"}, "Bad minute"),
        ({"every_s": 0}, "every_s is 0"),
        ({"times": 0}, "times is 0"),
        ({"run_on": "leaders"}, "run_on is 'leaders', but should be one of all, leader, single"),
        ({"run_on": ["a b"]}, r"run_on\[0\] is 'a b'"),
        ({"function": "f"}, "function is 'f'"),
        ({"name": ""}, "name is ''"),
    ],
)
def test_a_timer_that_makes_no_sense_is_refused(tmp_path: Path, given: Mapping[str, Any], text: str) -> None:
    timers = Callboard("memory:", base=tmp_path).jobs.timers()
    with pytest.raises(RequestRefused, match=text):
        timers.set(**{"name": "t", "function": print, **given})
    assert timers.timers() == ()
