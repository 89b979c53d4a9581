"""Jobs whose log, actors or workers have troubles that a test can cause in one process."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from callboard.actors.jobs.worker.roles import DISPATCHER, REPORTER
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX
from callboard.backends.logs.passing_log import PassingLog
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.reading import JobReading
from callboard.board.jobs.work import worker as worker_module
from callboard.board.member import member as member_module
from callboard.errors import LogUnavailable, NotAnswered
from callboard.messages.jobs.job_mail import LeasedJob, Work
from callboard.messages.jobs.job_messages import Outcome
from callboard.messages.jobs.job_state import JobState
from callboard.messages.record import NewRecord, Record
from callboard.messages.topics import job_topic
from tests.unit.board.jobs.test_jobs import run
from tests.unit.board.member.clusters import BRIEF, QUICK, Cluster, eventually
from tests.unit.board.member.clusters import run as run_cluster
from tests.unit.board.member.test_interruptions import cancelled_after


async def nothing() -> None:
    pass


async def all_ended(jobs: BoardJobs, many: int) -> None:
    for job in [each.id for each in (await jobs.find(tuple(JobState), limit=1000)).items]:
        assert (await jobs.wait(job)).state is JobState.SUCCEEDED
        many -= 1
    assert many == 0


async def workers(jobs: BoardJobs, instances: set[str]) -> None:
    """Wait until the topic has these workers."""
    reading = await jobs._read()
    while {each.instance for each in reading.jobs.workers.values()} != instances:
        await reading.news(30.0)
        await reading.catch_up()


class Unsure(PassingLog):
    """Fails after the first append to the job topic, which it has made; and ignores keys, as Kafka does."""

    failed = False

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        offsets = await super().append(topic, [replace(record, key="") for record in records])
        if topic == job_topic() and not self.failed:
            self.failed = True
            raise LogUnavailable("the answer was lost")
        return offsets


def test_a_job_whose_append_was_answered_late_is_the_one_that_is_returned(tmp_path: Path) -> None:
    async def added(cluster: Cluster) -> None:
        board = await cluster.board("a", Unsure)
        await board.context.log.ensure(job_topic())
        job = await board.jobs.add("a", 1)
        assert (found := await board.jobs.get(job.id)) is not None
        assert found.payload == 1

    run_cluster(added, tmp_path)


class Choppy(PassingLog):
    """Reads one record at a time, and fails at every second read."""

    reads = 0

    async def read(
        self, topic: str, start: int, max_records: int = READ_RECORDS_MAX, max_bytes: int = READ_BYTES_MAX
    ) -> list[Record]:
        self.reads += 1
        if self.reads % 2:
            raise LogUnavailable("cut off")
        return await super().read(topic, start, min(max_records, 1), max_bytes)


def test_a_reading_that_is_cut_off_applies_no_record_twice(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        def fails() -> None:
            raise ValueError("always")

        await jobs.configure("quick", ["a"], retries=2, delay_s=0.001)
        async with jobs.worker({"a": fails}):
            job = await jobs.wait((await jobs.add("a")).id)
        reading = JobReading(Choppy(jobs._board.log), job_topic())
        while True:
            try:
                found = (await reading.catch_up()).summary(job.id)
                break
            except LogUnavailable:
                pass
        assert found is not None
        assert (found.attempts, found.state) == (3, JobState.GIVEN_UP)

    run(tmp_path, scenario)


def test_a_job_that_is_stopped_while_it_waits_for_its_slot_ends(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(payload: str) -> None:
        if payload == "slow":
            begun.set()
            await go_on.wait()

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}, slots=1) as worker:
            await jobs.add_all([NewJob(topic="a", payload="quick") for _ in range(100)])
            await all_ended(jobs, 100)
            _, second = await jobs.add_all([NewJob(topic="a", payload="slow"), NewJob(topic="a", payload="quick")])
            await begun.wait()
            await eventually(lambda: second.id in worker._known)
            await jobs.stop(second.id)
            assert (await jobs.wait(second.id)).state is JobState.STOPPED
            go_on.set()

    run(tmp_path, scenario)


@pytest.mark.parametrize("role", [DISPATCHER, REPORTER])
def test_jobs_run_once_while_the_actors_of_their_worker_are_killed(tmp_path: Path, role: str) -> None:
    runs: list[object] = []

    async def work(payload: object) -> None:
        runs.append(payload)
        await asyncio.sleep(0)

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}, profile="fast") as worker:
            for turn in range(4):
                await jobs.add_all([NewJob(topic="a", payload=turn * 50 + n) for n in range(50)])
                await worker._agent.kill(role)
                await all_ended(jobs, (turn + 1) * 50)
        assert sorted(runs) == list(range(200))  # type: ignore[type-var]

    run(tmp_path, scenario)


def test_a_worker_whose_agent_has_ended_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        async def work() -> None:
            async with jobs.worker({"a": nothing}) as worker:
                await worker._agent.stop(0)
                await asyncio.Event().wait()

        with pytest.raises(NotAnswered, match="was stopped"):
            await work()

    run(tmp_path, scenario)
    assert "worker.ended" in caplog.text


def test_a_worker_that_stops_while_the_log_is_away_says_so_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker_module, "GIVE_BACK_S", 0.2)
    monkeypatch.setattr(member_module, "LEAVE_S", 0.2)
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        async with board.jobs.worker({"a": hang}, drain_s=0.1):
            await board.jobs.add("a")
            await begun.wait()
            cluster.cut("a")

    with caplog.at_level(logging.WARNING):
        run_cluster(scenario, tmp_path)
    assert "worker.not_drained" in caplog.text


def test_a_worker_that_was_evicted_runs_jobs_in_its_next_incarnation(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        one, two = await cluster.board("one"), await cluster.board("two")
        async with (
            one.jobs.worker({"a": nothing}, instance="one", renew_s=0.2, **BRIEF) as worker,
            two.jobs.worker({"b": nothing}, instance="two", renew_s=0.2, **BRIEF),
        ):
            former = worker._incarnation
            await workers(two.jobs, {"one", "two"})
            cluster.cut("one")
            job = await two.jobs.add("a")
            await workers(two.jobs, {"two"})
            cluster.cut("one", off=False)
            assert (await two.jobs.wait(job.id)).state is JobState.SUCCEEDED
            assert worker._incarnation != former

    run_cluster(scenario, tmp_path)


def test_a_job_that_is_leased_and_stopped_at_once_ends(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        worker = jobs.worker({"a": nothing})
        worker._take(Work(leased=(LeasedJob(job=1, topic="a", lease=5),), stopping=(1,)))
        _, ended = worker._ended.take("w")
        assert (ended.jobs, ended.outcomes) == ((1,), (Outcome.RETURNED,))

    run(tmp_path, scenario)


def test_a_worker_whose_start_is_cancelled_at_any_point_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board, steps = await cluster.board("a"), 0
        while await cancelled_after(
            steps, asyncio.create_task((worker := board.jobs.worker({"a": nothing}, **QUICK)).start())
        ):
            assert all(agent.has_ended for agent in board.context.agents.started), steps
            steps += 9
        await worker.stop()
        assert steps > 20

    run_cluster(scenario, tmp_path)


def test_a_worker_whose_stop_is_cancelled_at_any_point_has_ended(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board, steps, in_time = await cluster.board("a"), 1, True
        while in_time:
            worker = board.jobs.worker({"a": nothing}, **QUICK)
            await worker.start()
            in_time = await cancelled_after(steps, asyncio.create_task(worker.stop()))
            assert all(agent.has_ended for agent in board.context.agents.started), steps
            await worker.stop()
            steps += 25
        assert steps > 50

    run_cluster(scenario, tmp_path)
