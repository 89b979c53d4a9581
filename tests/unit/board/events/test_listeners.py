"""Listeners whose functions fail, hang and are slow; and whose events are trimmed, or whose log is replaced."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callboard import Backoff, Callboard, DistributedEvent, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.passing_log import PassingLog
from callboard.board.events.listener import Handler, Listener
from callboard.board.events.listeners import examine_listeners
from callboard.errors import LogUnavailable
from callboard.messages.topics import broadcast_topic, listener_topic
from tests.unit.board.events.test_events import numbers, run, take
from tests.unit.board.member.test_interruptions import cancelled_after

SOON = Backoff(first_s=0.001, max_s=0.001)


async def running(listener: Listener, handler: Handler, **options: Any) -> "asyncio.Task[None]":
    task = asyncio.create_task(listener.run(handler, backoff=SOON, **options))
    await asyncio.sleep(0)
    return task


async def ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - a thread does it
        await asyncio.sleep(0.001)


def test_a_function_that_fails_is_called_again_and_no_other_listener_waits_for_it(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        called = list[int]()

        async def flaky(event: DistributedEvent) -> None:
            called.append(event.properties["n"])
            if len(called) < 4:
                raise ValueError("not yet")

        async with one.events.listen(name="flaky") as listener, one.events.listen() as another:
            task = await running(listener, flaky)
            for n in range(2):
                await other.events.publish("a", {"n": n})
            assert numbers(await take(another, 2)) == [0, 1]
            await until(lambda: len(called) == 5)
            await ended(task)
        assert called == [0, 0, 0, 0, 1]
        [state] = await one.events.listeners()
        assert (state.behind, state.attempts, state.given_up) == (0, 0, 0)

    run(tmp_path, scenario)


def test_an_event_is_given_up_after_its_retries_which_the_log_and_doctor_say(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        called = list[int]()

        def broken(event: DistributedEvent) -> None:
            assert threading.current_thread() is not threading.main_thread()
            called.append(event.properties["n"])
            if event.properties["n"] == 0:
                raise ValueError("a bug")

        async with one.events.listen(name="broken") as listener:
            task = await running(listener, broken, retries=2)
            for n in range(2):
                await one.events.publish("a", {"n": n})
            await until(lambda: called == [0, 0, 0, 1])
            await ended(task)
        [state] = await one.events.listeners()
        assert (state.given_up, state.reason) == (1, "ValueError: a bug")
        found = [finding.what for finding in await examine_listeners(one.context)]
        assert "listener broken gave up 1 events" in found[0]

    run(tmp_path, scenario)
    assert re.findall(r"'(event\.\w+)'", caplog.text) == ["event.failed", "event.failed", "event.given_up"]


def test_a_coroutine_that_hangs_is_cancelled_and_a_thread_that_does_is_said_to_be_slow(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        handled, release = list[str](), threading.Event()

        async def hangs(event: DistributedEvent) -> None:
            if event.properties["n"] == 0:
                await asyncio.Event().wait()
            handled.append("coroutine")

        def slow(_: DistributedEvent) -> None:
            release.wait(30)
            handled.append("thread")

        async with one.events.listen() as here, one.events.listen() as there:
            tasks = [await running(here, hangs, retries=0, timeout_s=0.01), await running(there, slow, timeout_s=0.01)]
            for n in range(2):
                await one.events.publish("a", {"n": n})
            await until(lambda: handled == ["coroutine"] and "event.slow" in caplog.text)
            release.set()
            await until(lambda: handled == ["coroutine", "thread", "thread"])
            for task in tasks:
                await ended(task)

    run(tmp_path, scenario)
    assert re.search(r"event\.given_up.*it took longer than 0.01 s", caplog.text)
    assert re.search(r"event\.slow.*the function has been running for 0.01 s", caplog.text)


def test_a_function_that_returns_a_coroutine_is_waited_for(tmp_path: Path) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        done = asyncio.Event()

        async def handle(_: DistributedEvent) -> None:
            done.set()

        async with one.events.listen() as listener:
            task = await running(listener, partial(lambda async_handle, event: async_handle(event), handle))
            await one.events.publish("a")
            await done.wait()
            await ended(task)

    run(tmp_path, scenario)


def test_a_listener_that_fails_and_one_that_is_late_are_found_by_doctor(tmp_path: Path) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        def broken(_: DistributedEvent) -> None:
            raise ValueError("a bug")

        async with one.events.listen(name="broken") as listener, one.events.listen(name="late"):
            await one.events.publish("a")
            task = asyncio.create_task(listener.run(broken, backoff=Backoff(first_s=1000, max_s=1000)))
            while not (await one.events.listeners())[0].attempts:
                await one.log.wait(listener_topic(), 4, 0.01)
            await ended(task)
        now_ns = one.context.now_ns
        one.context.now_ns = lambda: now_ns() + 3600 * 10**9
        found = [finding.what for finding in await examine_listeners(one.context)]
        assert "listener broken has failed 1 times at an event: ValueError: a bug" in found
        assert "listener late has not handled an event that is 60 min old" in found
        assert 'callboard_listener_behind{listener="late"} 1.0\n' in await one.metrics()

    run(tmp_path, scenario)


def test_a_listener_is_told_what_was_trimmed_before_it_had_handled_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        async with one.events.listen(name="a"):
            pass
        for n in range(3):
            await one.events.publish("a", {"n": n})
        await one.log.trim(broadcast_topic(), Retention(below_offset=3))
        [state] = await one.events.listeners()
        assert state.problem == "events from 1 to 2 were removed before it had handled them"
        async with one.events.listen(name="a") as listener:
            assert listener.lost == 2
            assert numbers(await take(listener, 1)) == [2]
            for n in range(3, 6):
                await one.events.publish("a", {"n": n})
            await one.log.trim(broadcast_topic(), Retention(below_offset=6))
            assert numbers(await take(listener, 1)) == [5]
            assert listener.lost == 4
        [state] = await one.events.listeners()
        assert (state.problem, state.lost, state.behind) == ("", 4, 0)

    run(tmp_path, scenario)
    assert re.findall(r"'listener.lost_its_place'.*goes_on_at=(\d+)", caplog.text) == ["3", "6"]


def test_on_another_log_a_listener_begins_with_its_first_event(tmp_path: Path) -> None:
    log = MemoryLog()

    async def scenario(one: Callboard, other: Callboard) -> None:
        for n in range(3):
            await one.events.publish("a", {"n": n})
        async with one.events.listen(name="runs") as runs, one.events.listen(name="stopped"):
            last = await one.events.publish("a", {"n": 3})
            assert numbers(await take(runs, 1)) == [3]
            del log._topics[broadcast_topic()]
            await other.events.publish("a", {"n": 4})
            assert numbers(await take(runs, 1)) == [4]
        async with other.events.listen(name="stopped") as stopped:
            assert numbers(await take(stopped, 1)) == [4]
        with pytest.raises(Exception, match="this cursor is for another log"):
            await one.events.find(after=last.cursor)

    run(tmp_path, scenario, log)


class Failing(PassingLog):
    """Fails every third call."""

    calls = 0

    async def _pass(self, call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls % 3 == 0 and call.__name__ in {"read", "wait"}:
            raise LogUnavailable("the server restarts")
        return await call(*args, **kwargs)


def test_a_listener_goes_on_when_the_log_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.board.events.listener.RETRY_S", 0.001)

    async def scenario(one: Callboard, _: Callboard) -> None:
        async with one.events.listen(name="a") as listener:
            for n in range(20):
                await one.events.publish("a", {"n": n})
                assert numbers(await take(listener, 1)) == [n]

    run(tmp_path, scenario, Failing(MemoryLog()))


def test_marks_are_few_and_a_summary_replaces_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        async with one.events.listen(name="busy") as listener:
            for n in range(100):
                await one.events.publish("a", {"n": n})
            await take(listener, 100)
        assert (await one.log.bounds(listener_topic())).end <= 3
        monkeypatch.setattr("callboard.board.events.marks.SUMMARY_EVERY", 10)
        for n in range(30):
            async with one.events.listen(name=f"listener-{n % 3}", oldest=True) as listener:
                await take(listener, 1)
        first, end = await one.log.bounds(listener_topic())
        assert end - first <= 13
        assert [(each.name, each.behind) for each in await one.events.listeners()] == [
            ("busy", 0), ("listener-0", 90), ("listener-1", 90), ("listener-2", 90),
        ]  # fmt: skip

    run(tmp_path, scenario)


def test_a_listener_that_is_cancelled_at_any_point_leaves_its_events_to_the_next_one(tmp_path: Path) -> None:
    async def scenario(board: Callboard, other: Callboard) -> None:
        handled = list[object]()

        async def listen() -> None:
            async with board.events.listen("a", name="n") as listener:
                await listener.run(handle)

        async def handle(event: DistributedEvent) -> None:
            for _ in range(20):  # so that it is cancelled within
                await asyncio.sleep(0)
            handled.append(event.properties["n"])

        async with board.events.listen("a", name="n"):
            pass
        for steps in range(60):
            await other.events.publish("a", {"n": steps})
            await cancelled_after(steps, asyncio.create_task(listen()))
        last = asyncio.create_task(listen())
        await until(lambda: set(handled) == set(range(60)))
        await ended(last)

    run(tmp_path, scenario)
