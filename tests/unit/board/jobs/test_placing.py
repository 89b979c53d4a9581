"""Where jobs run: at home, only where they may, and not on a worker that is paused, evicted or blocked."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, JobState, NewJob, RunningJob
from callboard.backends.logs.passing_log import PassingLog
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.work import worker
from callboard.messages.record import NewRecord
from tests.unit.board.jobs.test_jobs import no_argument, run
from tests.unit.board.jobs.test_running import until
from tests.unit.board.jobs.test_troubles import workers
from tests.unit.board.member.clusters import BRIEF, Cluster, eventually
from tests.unit.board.member.clusters import run as run_cluster


@pytest.mark.proves("J34", "J61")
def test_jobs_that_a_worker_denies_or_has_no_tags_for_are_parked_until_another_one_runs_them(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("video", ["video/*"], tags=["gpu"])
        async with jobs.worker({"**": no_argument}, deny=["mail/*"], tags=["cpu"]):
            added = await jobs.add_all([NewJob(topic="mail/send"), NewJob(topic="video/cut"), NewJob(topic="other")])
            assert (await jobs.wait(added[2].id)).state is JobState.SUCCEEDED
            assert [(each.topic, each.parked) for each in (await jobs.find()).items] == [
                ("mail/send", True), ("video/cut", True),
            ]  # fmt: skip
            assert {each.name: each.parked for each in await jobs.queues()} == {"main": 1, "video": 1}
            async with jobs.worker({"**": no_argument}, instance="other", tags=["gpu", "cpu"]):
                for job in added:
                    assert (await jobs.wait(job.id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


@pytest.mark.proves("J71")
def test_a_paused_worker_begins_no_jobs_until_it_is_resumed_and_those_that_run_go_on(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(payload: object) -> None:
        if payload == "slow":
            begun.set()
            await go_on.wait()

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}, slots=1) as worker:
            quick = await jobs.add_all([NewJob(topic="a") for _ in range(20)])
            for job in quick:
                await jobs.wait(job.id)
            slow, waiting = await jobs.add_all([NewJob(topic="a", payload="slow"), NewJob(topic="a")])
            await begun.wait()
            await worker.pause()
            late = await jobs.add("a")
            found = await until(jobs, waiting.id, lambda found: found.state is JobState.QUEUED and found.parked)
            assert found.attempts == 0
            go_on.set()
            assert (await jobs.wait(slow.id)).state is JobState.SUCCEEDED
            await worker.resume()
            for job in (waiting, late):
                assert (await jobs.wait(job.id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


@pytest.mark.proves("J63")
def test_an_evicted_worker_cancels_its_jobs_before_it_joins_again(tmp_path: Path) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        if begun.is_set():
            return
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def scenario(cluster: Cluster) -> None:
        one, two = await cluster.board("one"), await cluster.board("two")
        async with (
            one.jobs.worker({"a": hang}, instance="one", renew_s=0.2, **BRIEF),
            two.jobs.worker({"b": no_argument}, instance="two", renew_s=0.2, **BRIEF) as other,
        ):
            await workers(two.jobs, {"one", "two"})
            job = await two.jobs.add("a")
            await begun.wait()
            assert other._known == {}
            cluster.cut("one")
            await workers(two.jobs, {"two"})
            assert not cancelled.is_set()
            cluster.cut("one", off=False)
            await cancelled.wait()
            assert (await two.jobs.wait(job.id)).state is JobState.SUCCEEDED

    run_cluster(scenario, tmp_path)


@pytest.mark.proves("J63")
def test_an_evicted_worker_does_not_run_a_job_again_by_its_former_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "WAIT_MS", 50)  # so that it asks for work while it is evicted
    leases, again = list[int](), asyncio.Event()

    class LateDismissal(PassingLog):
        """Delays the record that takes back the jobs of a worker until one has run again, at most for a second."""

        async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
            if any(dict(record.headers)["type"] == "WorkerGoneMessage" for record in records):
                with suppress(TimeoutError):
                    await asyncio.wait_for(again.wait(), 1)
            return await super().append(topic, records)

    async def hang(_: object, job: RunningJob) -> None:
        leases.append(job.lease)
        if len(leases) == 1:
            await asyncio.Event().wait()
        again.set()

    async def scenario(cluster: Cluster) -> None:
        one, two = await cluster.board("one", LateDismissal), await cluster.board("two", LateDismissal)
        async with (
            one.jobs.worker({"a": hang}, instance="one", renew_s=0.2),
            two.jobs.worker({"b": no_argument}, instance="two", renew_s=0.2),
        ):
            await workers(two.jobs, {"one", "two"})
            job = await two.jobs.add("a")
            await eventually(lambda: len(leases) == 1)
            assert (await two.topology.evict("one")).accepted
            assert (await two.jobs.wait(job.id)).state is JobState.SUCCEEDED
            assert len(leases) == len(set(leases)) == 2

    run_cluster(scenario, tmp_path)


def test_threads_that_block_for_ever_are_told_and_take_no_slots_until_as_many_are_blocked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    def block(payload: object) -> None:
        if payload == "block":
            release.wait(60)

    async def scenario(jobs: BoardJobs) -> None:
        options: Any = {"topic": "a", "retries": 0}
        async with jobs.worker({"a": block}, slots=2) as worker:
            threads = worker._slots.threads
            for blocked in range(1, 4):
                job = await jobs.add(**options, payload="block", timeout_s=0.05)
                assert (await jobs.wait(job.id)).state is JobState.GIVEN_UP
                assert len(threads.blocked) == blocked
                assert (await jobs.wait((await jobs.add(**options)).id)).state is JobState.SUCCEEDED
            await jobs.wait((await jobs.add(**options, payload="block", timeout_s=0.05)).id)
            late = await jobs.add(**options)
            assert len(threads.waiting) == 2, "no slot is left"
            release.set()
            await eventually(lambda: not threads.blocked)
            assert (await jobs.wait(late.id)).state is JobState.SUCCEEDED

    try:
        with caplog.at_level(logging.WARNING):
            run(tmp_path, scenario)
    finally:
        release.set()
    assert "job.thread_blocked" in caplog.text


@pytest.mark.proves("J50")
def test_a_job_runs_on_the_host_that_added_it_while_a_slot_is_free_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    go_on = asyncio.Event()

    def named(name: str) -> Any:
        async def work(_: object, job: RunningJob) -> None:
            ran.append(name)
            await go_on.wait()

        return work

    async def scenario() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            jobs = board.jobs
            await jobs.configure("local", ["a"], prefer_creator=True)
            monkeypatch.setattr("callboard.board.jobs.work.worker.gethostname", lambda: "elsewhere")
            async with jobs.worker({"a": named("away")}, slots=50, instance="away"):
                await workers(jobs, {"away"})
                monkeypatch.undo()
                async with jobs.worker({"a": named("home")}, slots=2, instance="home"):
                    await workers(jobs, {"away", "home"})
                    added = await jobs.add_all([NewJob(topic="a") for _ in range(5)])
                    await eventually(lambda: len(ran) == 5)
                    go_on.set()
                    for job in added:
                        await jobs.wait(job.id)
        assert sorted(ran) == ["away"] * 3 + ["home"] * 2

    asyncio.run(scenario())


@pytest.mark.proves("J32", "J33", "J62")
def test_the_most_specific_function_runs_a_job_which_waits_when_its_last_worker_has_left(tmp_path: Path) -> None:
    def named(name: str) -> Any:
        return lambda: name

    async def scenario(jobs: BoardJobs) -> None:
        functions = {pattern: named(pattern) for pattern in ("a/**", "a/*", "a/b")}
        async with jobs.worker(functions):
            added = await jobs.add_all([NewJob(topic=topic) for topic in ("a/b", "a/c", "a/c/d")])
            assert [(await jobs.wait(job.id)).result for job in added] == ["a/b", "a/*", "a/**"]
        left = await jobs.add("a/b")
        [found] = (await jobs.find()).items
        assert (found.id, found.parked) == (left.id, True)
        async with jobs.worker(functions):
            assert (await jobs.wait(left.id)).result == "a/b"

    run(tmp_path, scenario)
