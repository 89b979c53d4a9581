"""Operators command jobs, queues and members of the cluster from the console."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from callboard import Callboard
from callboard.messages.jobs.job_state import JobState
from tests.web.actions.operators import DEADLINE_S, READ_S, Console, console
from tests.web.served import run

Scenario = Callable[[Callboard, Console], Awaitable[None]]


async def work(payload: object) -> object:
    return payload


async def until(met: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await met():  # noqa: ASYNC110 - of several objects
            await asyncio.sleep(READ_S)


@run
async def test_a_job_is_stopped_dropped_and_run_again_by_who_says_why(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, console(board) as at:
        first, second = [(await board.jobs.add("mail/send", {"to": name})).id for name in ("ann", "bob")]
        form = await at.ada.form("stop-job", job=first)
        assert f"Job {first}, mail/send: queued, no worker runs its topic." in form.words
        done = await at.ada.send("stop-job", form.fields, reason="<b>not wanted</b>")
        assert (done.status, f"job {first} is stopped" in done.words) == (200, True)
        assert (await at.ben.act("drop-job", "neither", job=second)).status == 200
        states = [(await board.jobs.get(job)).state for job in (first, second)]
        assert states == [JobState.STOPPED, JobState.DROPPED]
        told = [(event.kind, event.author, event.reason) for event in await board.jobs.history(first)]
        assert ("stopped", "ada", "<b>not wanted</b>") in told
        again = await at.ada.act("retry-job", "after all", job=first)
        assert f"it repeats job {first}" in again.words
        [open_job] = (await board.jobs.find()).items
        assert open_job.topic == "mail/send"


@run
async def test_who_ran_a_job_again_and_why_is_on_the_log_and_in_its_context(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, console(board) as at:
        job = (await board.jobs.add("mail/send")).id
        await board.jobs.drop(job)
        await at.ada.act("retry-job", "x" * 3000, job=job)
        seen = dict[str, str]()

        async def look(_: object) -> None:
            from structlog.contextvars import get_contextvars

            seen.update(get_contextvars())

        async with board.jobs.worker({"mail/*": look}):
            [again] = (await board.jobs.find()).items or (await board.jobs.find("history", newest=True)).items[:1]
            await board.jobs.wait(again.id)
        assert (seen["author"], seen["reason"]) == ("ada", "x" * 200)


@run
async def test_a_job_that_has_ended_meanwhile_and_a_second_operator_are_told_so(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, console(board) as at:
        job = (await board.jobs.add("mail/send")).id
        forms = [await person.form("stop-job", job=job) for person in (at.ada, at.ben)]
        first, second = await asyncio.gather(
            at.ada.send("stop-job", forms[0].fields, reason="mine"),
            at.ben.send("stop-job", forms[1].fields, reason="no, mine"),
        )
        assert sorted((first.status, second.status)) == [200, 409]
        late = first if first.status == 409 else second
        assert f"job {job} ended before, or is unknown" in late.words
        form = await at.ada.form("drop-job", job=job)
        assert (form.status, "it has ended, and is stopped" in form.words) == (409, True)
        assert (await at.ada.form("retry-job", job=job)).status == 200
        other = (await board.jobs.add("mail/send")).id
        form = await at.ada.form("retry-job", job=other)
        assert (form.status, "it has not ended" in form.words) == (409, True)


@run
async def test_a_queue_is_suspended_and_resumed(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, console(board) as at:
        await board.jobs.add("mail/send")
        form = await at.ada.form("suspend-queue", queue="main")
        assert "main: 1 queued, 0 active." in form.words
        assert "main is suspended" in (await at.ada.send("suspend-queue", form.fields, reason="a rest")).words
        [queue] = await board.jobs.queues()
        assert queue.suspended
        assert "main is resumed" in (await at.ada.act("resume-queue", queue="main")).words
        [queue] = await board.jobs.queues()
        assert not queue.suspended


@run
async def test_a_member_is_drained_and_may_lead_again(tmp_path: Path):
    async with (
        Callboard("memory:", base=tmp_path) as board, console(board) as at,
        board.jobs.worker({"mail/*": work}, instance="one"),
    ):  # fmt: skip
        await until(lambda: _is_listed(at, "one"))
        form = await at.ada.form("drain", instance="one")
        assert "one: leader." in form.words
        done = await at.ada.send("drain", form.fields, reason="a new disk")
        assert (done.status, "done at offset" in done.words) == (200, True)
        [member] = (await board.topology.view()).members
        assert member.draining
        assert [(each.kind, each.author, each.reason) for each in (await board.topology.history()).items][-1] == (
            "drained", "ada", "a new disk"
        )  # fmt: skip
        assert (await at.ben.act("undo-drain", instance="one")).status == 200
        [member] = (await board.topology.view()).members
        assert not member.draining


async def _is_listed(at: Console, name: str) -> bool:
    return f'id="m-{name}"' in (await at.ada.get("/topology", dialog=False)).html
