"""What doctor, metrics and the list of workers tell of jobs, on a board in memory."""

import asyncio
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.backends.examination import Level
from callboard.board.jobs.health import checkup
from callboard.board.jobs.health.checkup import examine_jobs
from callboard.board.jobs.health.metrics import job_metrics
from callboard.board.read.status.families import exposed
from tests.unit.board.member.clusters import BRIEF, Cluster, eventually
from tests.unit.board.member.clusters import run as run_cluster

HOUR_NS = 3600 * 10**9


def found(board: Callboard) -> "asyncio.Task[list[str]]":
    """What doctor says of jobs, the worst first."""

    async def look() -> list[str]:
        findings = await examine_jobs(board.context)
        return [f"{each.level}: {each.what}" for each in findings]

    return asyncio.ensure_future(look())


@pytest.mark.proves("J94", "J56")
def test_metrics_and_doctor_tell_what_waits_who_runs_jobs_and_how_they_ended(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        assert (await job_metrics(board.context), await found(board)) == ([], [])
        jobs = board.jobs
        await jobs.add("mail/send", delay_s=3600)
        first = await jobs.add("mail/send")
        assert await found(board) == [
            f"{Level.PROBLEM}: jobs wait that no worker runs: mail/send (2)",
            f"{Level.OK}: jobs that wait: 2, that run: 0; workers: 0; no one dispatches",
        ]
        now_ns = board.context.now_ns
        board.context.now_ns = lambda: now_ns() + HOUR_NS // 2
        assert 'callboard_jobs_oldest_seconds{queue="main"} 18' in exposed(await job_metrics(board.context))
        board.context.now_ns = now_ns
        release = asyncio.Event()

        async def send() -> None:
            await release.wait()

        async with jobs.worker({"mail/*": send, "fail": lambda: 1 / 0}, slots=3, instance="one"):
            await jobs.configure("once", ["fail"], retries=0)
            failed = await jobs.wait((await jobs.add("fail")).id)
            while not (await jobs.workers())[0].running:  # noqa: ASYNC110 - until it is leased
                await asyncio.sleep(0.01)
            [worker] = await jobs.workers()
            assert (worker.instance, worker.slots, worker.topics) == ("one", 3, ("callboard/publish", "mail/*", "fail"))
            assert (worker.running, worker.dispatches, worker.live) == (1, True, True)
            assert await found(board) == [f"{Level.OK}: jobs that wait: 1, that run: 1; workers: 1; one dispatches"]
            figures = (await board.metrics()).splitlines()
            for line in (
                'callboard_jobs{queue="main",state="active"} 1.0', 'callboard_jobs{queue="main",state="queued"} 1.0',
                'callboard_jobs_ended_total{queue="once",state="given_up"} 1.0', "callboard_job_workers 1.0",
                'callboard_jobs_failed_total{queue="once"} 1.0', 'callboard_jobs_started_total{queue="once"} 1.0',
                "callboard_job_slots 3.0", "callboard_job_dispatchers 1.0", "callboard_job_schedules 0.0",
            ):  # fmt: skip
                assert line in figures
            assert not [line for line in figures if str(first.id) in line or str(failed.id) in line]
            release.set()
            await jobs.wait(first.id)

    async def within() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            await scenario(board)

    asyncio.run(within())


def test_doctor_tells_of_jobs_that_wait_too_long_and_of_schedules_that_nothing_carries_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def within() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            await board.jobs.schedule("nightly", "report", cron="0 3 * * *")
            assert (await found(board))[0] == f"{Level.PROBLEM}: no worker carries out schedules: nightly"
            begun, release = asyncio.Event(), asyncio.Event()

            async def hold() -> None:
                begun.set()
                await release.wait()

            async with board.jobs.worker({"a": hold}):
                await board.jobs.configure("narrow", ["a"], cluster_parallel=1)
                await board.jobs.add("a")
                await board.jobs.add("a")
                await begun.wait()
                monkeypatch.setattr(checkup, "WAIT_S", -1.0)
                assert (await found(board))[0].startswith(f"{Level.ADVICE}: in queue narrow a job has been due for 0 s")
                await board.jobs.suspend("narrow")
                assert (await found(board))[0] == f"{Level.ADVICE}: queue narrow is suspended; jobs that wait in it: 1"
                release.set()

    asyncio.run(within())


def test_doctor_does_not_take_workers_for_alive_that_have_been_silent_or_are_no_members_any_more(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: Cluster) -> None:
        one, two = await cluster.board("one"), await cluster.board("two")
        now_ns = two.context.now_ns
        async with one.jobs.worker({"a": asyncio.Event().wait}, instance="one", renew_s=0.2, **BRIEF):
            await two.jobs.add("a")
            while not (await two.jobs.workers())[0].running:  # noqa: ASYNC110 - until it is leased
                await asyncio.sleep(0.01)
            assert (await found(two))[0] == f"{Level.OK}: jobs that wait: 0, that run: 1; workers: 1; one dispatches"
            two.context.now_ns = lambda: now_ns() + 10 * 10**9
            dead = f"{Level.PROBLEM}: none of the workers is alive, or reaches the log: one"
            assert (await found(two))[0] == dead
            assert [each.live for each in await two.jobs.workers()] == [False]
            figures = (await two.metrics()).splitlines()
            assert {f"callboard_job_{name} 0.0" for name in ("workers", "slots", "dispatchers")} <= {*figures}
            two.context.now_ns = now_ns
            async with two.member(renew_s=0.2, **BRIEF) as member:
                await eventually(lambda: len(member.instances()) == 2)
                assert (await found(two))[0].startswith(Level.OK)
                cluster.cut("one")
                await eventually(lambda: len(member.instances()) == 1)
                assert (await found(two))[0] == dead, "it is still listed: only a dispatcher dismisses workers"
                cluster.cut("one", off=False)

    run_cluster(scenario, tmp_path)


def test_doctor_tells_of_schedules_that_are_late_or_wait_for_a_clock_that_was_set_back(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        jobs, now_ns = board.jobs, board.context.now_ns
        for name, catch_up in (("late", "last"), ("left-out", "skip"), ("suspended", "last")):
            await jobs.schedule(name, "a", every_s=600, catch_up=catch_up)
        await jobs.suspend_schedule("suspended")
        reading = await jobs._read()

        def told(by_s: int) -> list[str]:
            return [each.what for each in checkup._schedules(reading, (now_ns() + by_s * 10**9) // 10**6)]

        nobody = "no worker carries out schedules: late, left-out, suspended"
        assert told(630) == [nobody]
        assert told(670) == ["schedules whose ticks are late by more than 60 s: late", nobody]
        its = reading.jobs.schedules.get("late")
        assert its is not None
        reading.jobs.schedules.put(its._replace(base_ms=its.base_ms + 600_000, last_ms=its.base_ms + 600_000))
        [ahead, _] = told(0)
        assert ahead == "schedules whose last tick is yet to come, as a clock was set back: late"

    async def within() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            await scenario(board)

    asyncio.run(within())
