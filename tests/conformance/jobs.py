"""Jobs on a log, in real time, as every log must support them. Speed is not asserted."""

import asyncio
import uuid
from collections import Counter
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.actors.jobs.snapshots import search, taking
from callboard.actors.jobs.worker import dispatching, snapshotting
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.reading import JobReading
from callboard.board.jobs.work.running_job import RunningJob
from callboard.errors import RetryJob
from callboard.messages.jobs.job_state import JobState
from callboard.messages.topics import job_topic

PATIENCE_S = 60.0
"""Far beyond what anything here takes, so that only a defect meets it."""


async def states(jobs: BoardJobs, added: tuple[object, ...]) -> Counter[JobState]:
    return Counter([(await jobs.wait(job.id)).state for job in added])  # type: ignore[attr-defined]


async def two_workers_run_retry_limit_and_stop_jobs(url: str, folder: Path) -> None:
    prefix = f"checked-{uuid.uuid4().hex[:12]}"

    def opened() -> Callboard:
        return Callboard(url, blobs="./blobs", base=folder, prefix=prefix)

    by, running, most, hangs = Counter[str](), [0], [0], asyncio.Event()

    def functions(name: str) -> dict[str, object]:
        async def quick(_: object, job: RunningJob) -> int:
            by[name] += 1
            running[0] += 1
            most[0] = max(most[0], running[0])
            await asyncio.sleep(0)
            running[0] -= 1
            return job.id

        async def flaky(_: object, job: RunningJob) -> None:
            if job.attempt < 3:
                raise RetryJob("not yet", delay_s=0.01)

        async def hang() -> None:
            hangs.set()
            await asyncio.Event().wait()

        return {"quick/*": quick, "flaky": flaky, "hang": hang}

    async with asyncio.timeout(PATIENCE_S), opened() as board, opened() as other:
        jobs = board.jobs
        waiting = await jobs.add_all([NewJob(topic="quick/a", payload=n) for n in range(100)])
        await jobs.configure("limited", ["quick/*"], cluster_parallel=3)
        async with (
            jobs.worker(functions("one"), instance="one", slots=2),
            (board if url == "memory:" else other).jobs.worker(functions("two"), instance="two", slots=2),
        ):
            assert await states(jobs, waiting) == {JobState.SUCCEEDED: 100}
            assert most[0] <= 3
            flaky = await jobs.add("flaky")
            assert (await jobs.wait(flaky.id)).attempts == 2
            stopped = await jobs.add("hang")
            await hangs.wait()
            assert await jobs.stop(stopped.id) == (stopped.id,)
            assert (await jobs.wait(stopped.id)).state is JobState.STOPPED
            again = await jobs.retry(waiting[0].id)
            assert (await jobs.wait(again.id)).result == again.id
            more = await jobs.add_all([NewJob(topic="quick/b", lane=f"{n % 2}") for n in range(20)])
            assert await states(jobs, more) == {JobState.SUCCEEDED: 20}
            batch = [NewJob(topic="quick/c", payload={"n": n}) for n in range(1100)]  # of two records
            last = await jobs.batch(batch, then=NewJob(topic="quick/d"))
            assert (await jobs.wait(last.id)).result == last.id
            assert len((await jobs.find("history", where={"n >=": 1000}, limit=1000)).items) == 100
        assert by.total() == 1222
        assert by.keys() == {"one", "two"}
        assert (await jobs.find()).items == ()


async def newcomers_know_all_jobs_of_a_topic_that_was_trimmed(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (snapshotting, "COST_MIN", 20_000), (snapshotting, "ROW_COST", 0), (snapshotting, "REQUEST_COST", 0),
        (snapshotting, "KEEP_S", 0.0), (dispatching, "FORGET_S", 0.0), (taking, "PART_BYTES", 500),
        (search, "RANGE", 4),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    prefix, topic = f"trimmed-{uuid.uuid4().hex[:12]}", ""

    ran = asyncio.Semaphore(0)

    async def count() -> None:
        ran.release()

    async with asyncio.timeout(PATIENCE_S), Callboard(url, blobs="./blobs", base=folder, prefix=prefix) as board:
        jobs, log, topic = board.jobs, board.context.log, job_topic(prefix)
        await jobs.configure("all", ["**"], keep_s=0.0)
        former = await JobReading(log, topic).catch_up()
        async with jobs.worker({"quick": count}, instance="one"):
            first = (await log.bounds(topic)).first
            while (await log.bounds(topic)).first < first + 100:
                await jobs.add("quick")
                await ran.acquire()
            parked = await jobs.add("parked", {"for": "later"}, title="kept", unique="one")
        late = await JobReading(log, topic).catch_up()
        assert late.next - (await log.bounds(topic)).first < late.next - first
        assert (found := await late.details(parked.id)) is not None
        assert (found.payload, found.title, found.state) == ({"for": "later"}, "kept", JobState.QUEUED)
        assert (await jobs.add("parked", unique="one")).id == parked.id
        async with jobs.worker({"parked": count}, instance="two"):
            await ran.acquire()
        assert (await former.catch_up()).jobs.queues.configured == late.jobs.queues.configured
