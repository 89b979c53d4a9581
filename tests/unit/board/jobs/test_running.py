"""What the function of a job can do while it runs: report, save, and give its result later."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import CancelJob, Job, JobState, RequestRefused, RetryJob, RunningJob
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.work import progress
from callboard.messages.jobs.job_mail import WorkerReport
from callboard.messages.jobs.limits import LINES_MAX
from tests.unit.board.jobs.test_jobs import run


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is reported at once."""
    monkeypatch.setattr(progress, "EVERY_S", 0.01)


async def until(jobs: BoardJobs, job: int, met: Callable[[Job], object]) -> Job:
    """The job, once it is so."""
    reading = await jobs._read()
    while (found := await jobs.get(job)) is None or not met(found):
        await reading.news(30.0)
    return found


@pytest.mark.proves("J15", "J16")
@pytest.mark.parametrize("threaded", [False, True])
def test_the_progress_of_a_running_job_is_seen_and_stays_when_it_has_ended(tmp_path: Path, threaded: bool) -> None:
    go_on, gone_on = threading.Event(), asyncio.Event()

    def begin(job: RunningJob) -> None:
        job.step(7)  # before there are any
        job.progress(steps=4)
        job.progress(steps=100)
        job.step()
        job.step()
        job.log("half")

    def work(_: object, job: RunningJob) -> None:
        begin(job)
        assert go_on.wait(30)
        job.step(100)
        job.log("all")

    async def coroutine(_: object, job: RunningJob) -> None:
        begin(job)
        await gone_on.wait()
        job.step(100)
        job.log("all")

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work if threaded else coroutine}):
            job = await jobs.add("a")
            found = await until(jobs, job.id, lambda found: found.progress and found.progress.log)
            assert found.progress is not None
            assert (found.progress.step, found.progress.steps, found.progress.log) == (2, 4, ("half",))
            assert found.progress.eta_ms >= found.created_ms > 0
            assert found.state is JobState.ACTIVE
            go_on.set()
            gone_on.set()
            found = await jobs.wait(job.id)
            assert found.progress is not None
            assert (found.progress.step, found.progress.steps, found.progress.log) == (4, 4, ("half", "all"))

    try:
        run(tmp_path, scenario)
    finally:
        go_on.set()


@pytest.mark.proves("J16")
def test_a_job_says_when_it_expects_to_end_and_can_take_that_back() -> None:
    job = RunningJob(1, "a", 1, 0)
    job.eta(60)
    assert job.report().eta_ms > 60_000
    job.eta(0)
    assert job.report().eta_ms == 0


@pytest.mark.proves("J17")
def test_the_oldest_lines_of_a_log_are_cut_and_a_marker_says_so(tmp_path: Path) -> None:
    async def work(many: int, job: RunningJob) -> None:
        for n in range(many):
            job.log(f"{n}" if n else "x" * 1000)

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}):
            long, short = await jobs.add("a", LINES_MAX + 7), await jobs.add("a", 1)
            found = (await jobs.wait(long.id)).progress
            assert found is not None
            assert found.log == ("(7 earlier lines were cut)", *(str(n) for n in range(7, LINES_MAX + 7)))
            found = (await jobs.wait(short.id)).progress
            assert found is not None
            assert found.log == ("x" * 500,)

    run(tmp_path, scenario)


@pytest.mark.proves("J18")
def test_the_next_attempt_has_what_a_job_has_saved(tmp_path: Path) -> None:
    had: list[object] = []

    async def work(_: object, job: RunningJob) -> None:
        had.append(job.saved)
        if job.attempt < 4:
            job.save({"done": job.attempt})
        if job.attempt == 3:
            raise CancelJob("enough")
        with pytest.raises(RequestRefused, match="the value has 5002 bytes"):
            job.save("x" * 5000)
        raise RetryJob("again", delay_s=0)

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}):
            job = await jobs.wait((await jobs.add("a")).id)
            assert job.state is JobState.ERROR
            assert had == [None, {"done": 1}, {"done": 2}]
            assert not (await jobs._read()).jobs.reports.saved

    run(tmp_path, scenario)


@pytest.mark.proves("J100")
def test_a_job_that_reports_nothing_for_too_long_has_failed_and_one_that_does_has_not(tmp_path: Path) -> None:
    failed = asyncio.Event()

    async def quiet() -> None:
        await asyncio.Event().wait()

    async def busy(_: object, job: RunningJob) -> None:
        while not failed.is_set():
            await asyncio.sleep(0.05)
            job.step()

    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("watched", ["watched/*"], quiet_s=1, retries=0)
        async with jobs.worker({"watched/quiet": quiet, "watched/busy": busy}):
            second, first = await jobs.add("watched/busy"), await jobs.add("watched/quiet")
            found = await jobs.wait(first.id)
            assert (found.state, found.message) == (JobState.GIVEN_UP, "it reported no progress for 1 s")
            failed.set()
            assert (await jobs.wait(second.id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


def later(act: Callable[[RunningJob], Any], *, before: bool = False) -> Callable[[object, RunningJob], object]:
    """A function whose result is given by another thread, after it has returned or before."""

    def work(_: object, job: RunningJob) -> object:
        thread = threading.Thread(target=act, args=(job,))
        thread.start()
        if before:
            thread.join()
        return job.later()

    return work


@pytest.mark.proves("J11")
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("act", "state", "message", "result"),
    [
        (lambda job: job.succeed({"n": 1}), JobState.SUCCEEDED, "", {"n": 1}),
        (lambda job: job.succeed(), JobState.SUCCEEDED, "", None),
        (lambda job: job.fail("not yet", delay_s=0), JobState.GIVEN_UP, "not yet", None),
        (lambda job: job.fail(ValueError("a bug"), delay_s=0), JobState.GIVEN_UP, "ValueError: a bug", None),
        (lambda job: job.fail(RetryJob("not yet", delay_s=0)), JobState.GIVEN_UP, "not yet", None),
        (lambda job: job.cancel("no more"), JobState.ERROR, "no more", None),
    ],
)
def test_a_job_ends_as_is_said_later(
    tmp_path: Path, act: Callable[[RunningJob], None], state: JobState, message: str, result: object, before: bool
) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": later(act, before=before)}):
            found = await jobs.wait((await jobs.add("a", retries=1)).id)
            assert (found.state, found.message, found.result) == (state, message, result)

    run(tmp_path, scenario)


@pytest.mark.proves("J11")
def test_the_end_of_a_job_is_said_once(tmp_path: Path) -> None:
    jobs_seen: list[RunningJob] = []

    async def work(value: int, job: RunningJob) -> object:
        jobs_seen.append(job)
        return value or job.later()

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}, slots=1):
            first, second = await jobs.add("a", 0), await jobs.add("a", 5)
            await until(jobs, first.id, lambda found: found.state is JobState.ACTIVE)
            assert (await jobs.find("queued")).items, "a job whose result comes later keeps its slot"
            while not jobs_seen:  # noqa: ASYNC110 - the function runs on this loop
                await asyncio.sleep(0)
            with pytest.raises(RequestRefused, match="the result has 20002 bytes"):
                jobs_seen[0].succeed("x" * 20_000)
            jobs_seen[0].succeed(1)
            with pytest.raises(RequestRefused, match="has ended; say so once"):
                jobs_seen[0].cancel()
            assert (await jobs.wait(first.id)).result == 1
            assert (await jobs.wait(second.id)).result == 5
            with pytest.raises(RequestRefused, match="attempt 1 of job"):
                jobs_seen[1].succeed()

    run(tmp_path, scenario)


@pytest.mark.proves("J12")
def test_a_worker_that_stops_gives_back_the_jobs_whose_results_are_still_to_come(tmp_path: Path) -> None:
    async def work(_: object, job: RunningJob) -> object:
        return job.later()

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": work}, drain_s=0.05):
            job = await jobs.add("a")
            await until(jobs, job.id, lambda found: found.state is JobState.ACTIVE)
        found = await jobs.get(job.id)
        assert found is not None
        assert (found.state, found.attempts) == (JobState.QUEUED, 0)

    run(tmp_path, scenario)


def test_a_job_can_be_made_for_the_test_of_a_function() -> None:
    async def scenario() -> None:
        job = RunningJob(1, "a", 1, 0)
        job.progress(2)
        job.step()
        job.save(3)
        assert (job.saved, job.report().step) == (3, 1)
        job.succeed(7)
        assert (await job.settled()).result == b"7"

    asyncio.run(scenario())


def test_nothing_is_reported_on_an_attempt_that_the_worker_no_longer_has() -> None:
    async def scenario() -> None:
        said = asyncio.get_running_loop().create_future()

        async def say(report: WorkerReport) -> None:
            said.set_result(report.progressed)

        reports = progress.ProgressReports(say, lambda: "w")
        former, present = (RunningJob(7, "a", 1, lease, _listener=reports) for lease in (70, 71))
        former.save("old")
        present.save("new")
        reports.leased.set()
        following = asyncio.create_task(reports.follow({7: present}))
        assert [its.lease for its in (await asyncio.wait_for(said, 30.0)).progress] == [71]
        following.cancel()
        assert not reports._new

    asyncio.run(scenario())
