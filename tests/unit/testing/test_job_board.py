"""The board for tests of services runs jobs as a worker does, when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import BaseModel

from callboard import (
    Callboard,
    CallboardError,
    CancelJob,
    JobRegistry,
    JobState,
    NewJob,
    NotAnswered,
    RetryJob,
    RunningJob,
)
from callboard.testing.jobs import JobBoard
from callboard.testing.jobs import sync as blocking

DEADLINE_S = 30.0
START = datetime(2026, 1, 1, tzinfo=UTC)

jobs = JobRegistry()


class Mail(BaseModel):
    to: str


@jobs.job("mail/send")
async def send(mail: Mail) -> str:
    return f"sent to {mail.to}"


@jobs.job("step")
def step(name: str) -> str:
    return name


@jobs.job("fail", retries=2)
async def fail(times: int, job: RunningJob) -> str:
    if job.attempt <= times:
        raise ValueError(f"attempt {job.attempt}")
    return "done"


@jobs.job("later")
async def later(seconds: float, job: RunningJob) -> None:
    if job.attempt == 1:
        raise RetryJob("not yet", delay_s=seconds)


@jobs.job("never")
async def never() -> None:
    raise CancelJob("never")


@jobs.job("hang", timeout_s=0.01, retries=0)
async def hang() -> None:
    await asyncio.Event().wait()


@jobs.job("context")
async def context(_: None, job: RunningJob) -> dict[str, str]:
    return dict(job.context)


@jobs.job("leave")
def leave() -> None:
    raise SystemExit(3)


def run(scenario: Callable[[JobBoard], Awaitable[None]], **options: Any) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), JobBoard(jobs, now=START, **options) as test:
            await scenario(test)

    asyncio.run(within())


def test_jobs_run_in_order_when_the_test_says_so_with_those_that_they_add() -> None:
    seen = []

    async def scenario(test: JobBoard) -> None:
        await test.board.jobs.add_all([
            NewJob(topic="parent", payload=1),
            NewJob(topic="child", payload=2, priority=1),
            NewJob(topic="child", payload=3),
        ])  # fmt: skip
        first, *_ = added = await test.added("**")
        assert [(job.state, job.parked) for job in added] == [(JobState.QUEUED, False)] * 3
        with pytest.raises(NotAnswered):
            await test.board.jobs.wait(first.id, timeout_s=0.1)
        ran = await test.run_jobs_inline()
        assert [job.payload for job in ran] == [2, 1, 3, 10]
        assert {job.state for job in ran} == {JobState.SUCCEEDED}
        assert await test.run_jobs_inline() == ()

    async def parent(number: int) -> None:
        seen.append(number)
        await child.add(board.board, number * 10)

    mine = JobRegistry()
    mine.job("parent")(parent)
    child = mine.job("child")(seen.append)

    async def within() -> None:
        nonlocal board
        async with asyncio.timeout(DEADLINE_S), JobBoard(mine) as board:
            await scenario(board)

    board: JobBoard
    asyncio.run(within())
    assert seen == [2, 1, 3, 10]


def test_jobs_that_were_added_are_found_by_what_their_payloads_have() -> None:
    async def scenario(test: JobBoard) -> None:
        await send.add(test.board, Mail(to="ann"))
        await send.add(test.board, Mail(to="bob"), delay_s=60)
        await step.add(test.board, "one")
        [bob] = await test.added("mail/send", {"to": "bob"})
        assert (bob.payload, bob.due_ms) == ({"to": "bob"}, int((START.timestamp() + 60) * 1000))
        assert await test.added("mail/send", {"to": "cid"}) == ()
        assert len(await test.added("mail/*")) == 2
        await test.run_jobs_inline()
        assert [job.result for job in await test.added("**")] == ["sent to ann", None, "one"]

    run(scenario)


def test_an_error_of_a_function_is_raised_when_all_have_run_and_is_recorded() -> None:
    async def scenario(test: JobBoard) -> None:
        job = await fail.add(test.board, 1)
        await step.add(test.board, "one")
        with pytest.raises(ValueError, match="attempt 1") as raised:
            await test.run_jobs_inline()
        assert raised.value.__notes__ == [f"raised by job {job.id}, fail, in attempt 1"]
        failed, done = await test.added("**")
        assert (failed.state, failed.attempts, done.state) == (JobState.QUEUED, 1, JobState.SUCCEEDED)
        assert await test.run_jobs_inline() == ()
        [again] = await test.advance(minutes=1)
        assert (again.id, again.result) == (job.id, "done")

    run(scenario)


def test_errors_of_several_functions_are_raised_together() -> None:
    async def scenario(test: JobBoard) -> None:
        await fail.add(test.board, 1)
        await test.board.jobs.add("leave")
        with pytest.raises(BaseExceptionGroup) as raised:
            await test.run_jobs_inline()
        assert [repr(error) for error in raised.value.exceptions] == ["ValueError('attempt 1')", "SystemExit(3)"]

    run(scenario)


def test_a_retry_and_a_cancelled_job_raise_nothing_and_a_timeout_does() -> None:
    async def scenario(test: JobBoard) -> None:
        await later.add(test.board, 3600)
        await never.add(test.board)
        assert [job.state for job in await test.run_jobs_inline()] == [JobState.QUEUED, JobState.ERROR]
        await hang.add(test.board)
        with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"):
            await test.run_jobs_inline()
        [found] = await test.added("hang")
        assert (found.state, found.message) == (JobState.GIVEN_UP, "it took longer than 0.01 s")

    run(scenario)


def test_time_passes_from_one_job_that_is_due_to_the_next() -> None:
    moments = []

    async def scenario(test: JobBoard) -> None:
        board = test.board
        await board.jobs.schedule("often", "look", "tick", every_s=600)
        await board.jobs.add("look", "delayed", delay_s=1500)
        await later.add(board, 7200)
        ran = await test.advance(minutes=40)
        assert [job.payload for job in ran] == [7200, "tick", "tick", "delayed", "tick", "tick"]
        assert test.now == START + timedelta(minutes=40)
        assert [each.message for each in ran] == ["not yet", *[""] * 5]
        await board.jobs.unschedule("often")
        [done] = await test.advance(hours=2)
        assert (done.state, done.attempts) == (JobState.SUCCEEDED, 1)

    async def look(what: str) -> None:
        moments.append((what, (test.now - START).seconds // 60))

    async def within() -> None:
        nonlocal test
        async with asyncio.timeout(DEADLINE_S), JobBoard({**jobs, "look": look}, now=START) as test:
            await scenario(test)

    test: JobBoard
    asyncio.run(within())
    assert moments == [("tick", 10), ("tick", 20), ("delayed", 25), ("tick", 30), ("tick", 40)]


def test_the_history_of_a_job_is_as_after_a_worker(tmp_path: Path) -> None:
    async def told(board: Callboard, until_done: Callable[[int], Awaitable[object]]) -> list[Any]:
        await board.jobs.configure("quick", ["fail"], delay_s=0.01)
        job = await fail.add(board, 2, unique="one")
        assert (await fail.add(board, 2, unique="one")).id == job.id
        await until_done(job.id)
        return [(event.kind, event.attempt, event.message) for event in await board.jobs.history(job.id)]

    async def with_worker() -> list[Any]:
        async with Callboard("memory:", base=tmp_path) as board, board.jobs.worker(jobs):
            return await told(board, board.jobs.wait)

    async def inline() -> list[Any]:
        async with JobBoard(jobs) as test:

            async def until_done(_: int) -> None:
                for _ in range(2):
                    with pytest.raises(ValueError, match="attempt"):
                        await test.advance(seconds=1)
                await test.advance(seconds=1)

            return await told(test.board, until_done)

    assert asyncio.run(inline()) == asyncio.run(with_worker())


def test_what_is_suspended_denied_or_limited_does_not_run() -> None:
    async def scenario(test: JobBoard) -> None:
        board = test.board
        await board.jobs.configure("slow", ["step"], rate=1, rate_s=10)
        await board.jobs.configure("mails", ["mail/*"])
        await board.jobs.suspend("mails")
        await step.add(board, "one")
        await step.add(board, "two")
        await send.add(board, Mail(to="ann"))
        await board.jobs.add("of/another-service")
        assert [job.payload for job in await test.run_jobs_inline()] == ["one"]
        assert [job.payload for job in await test.advance(minutes=1)] == ["two"]
        assert [job.parked for job in await test.added("of/**")] == [True]
        await board.jobs.resume("mails")
        assert [job.topic for job in await test.run_jobs_inline()] == ["mail/send"]

    run(scenario)


def test_a_queue_that_demands_tags_needs_a_board_with_them() -> None:
    async def scenario(test: JobBoard) -> None:
        await test.board.jobs.configure("big", ["step"], tags=["gpu"])
        await step.add(test.board, "one")
        assert len(await test.run_jobs_inline()) == 1

    run(scenario, tags=["gpu"])


def test_a_service_without_an_event_loop_has_the_same_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with blocking.JobBoard(jobs, now=START) as test:
        test.board.jobs.add("mail/send", {"to": "ann"}, delay_s=60)
        assert test.run_jobs_inline() == ()
        assert [job.result for job in test.advance(hours=1)] == ["sent to ann"]
        assert test.now == START + timedelta(hours=1)
        assert len(test.added("mail/send", {"to": "ann"})) == 1
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("functions", "options", "why"),
    [
        (None, {}, "functions is None"),
        ({"a": 1}, {}, "which is no function"),
        (jobs, {"now": "2026-01-01"}, "now is '2026-01-01', but should be a datetime"),
        (jobs, {"slots": 0}, "slots is 0"),
        (jobs, {"tags": "gpu"}, "tags is 'gpu', but should be a list"),
        (jobs, {"job_context": "id"}, "job_context is 'id', but should be a list"),
    ],
)
def test_a_board_for_tests_refuses_what_it_cannot_take(functions: Any, options: Any, why: str) -> None:
    with pytest.raises(CallboardError, match=why):
        JobBoard(functions, **options)


def test_the_context_of_logs_goes_with_the_jobs_as_on_any_board() -> None:
    async def scenario(test: JobBoard) -> None:
        with structlog.contextvars.bound_contextvars(request_id="r-1"):
            await test.board.jobs.add("context")
        [job] = await test.run_jobs_inline()
        assert job.result == {"request_id": "r-1"}

    run(scenario, job_context=["request_id"])


def test_a_job_that_is_stopped_or_dropped_while_it_runs_raises_nothing() -> None:
    async def end_itself(how: str, job: RunningJob) -> None:
        await getattr(test.board.jobs, how)(job.id)
        await asyncio.Event().wait()

    async def within() -> None:
        nonlocal test
        async with asyncio.timeout(DEADLINE_S), JobBoard({"end": end_itself}) as test:
            for how, state in (("stop", JobState.STOPPED), ("drop", JobState.DROPPED)):
                await test.board.jobs.add("end", how)
                assert [job.state for job in await test.run_jobs_inline()] == [state]
            assert await test.run_jobs_inline() == ()

    test: JobBoard
    asyncio.run(within())


def test_time_does_not_pass_backwards() -> None:
    async def scenario(test: JobBoard) -> None:
        with pytest.raises(CallboardError, match="hours is -1"):
            await test.advance(hours=-1)
        assert test.now == START

    run(scenario)
