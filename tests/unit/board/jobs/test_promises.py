"""What the id of a job promises, and that of a job that was added right before a crash."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from callboard import BoardJobs, Callboard, NewJob, RetryJob, RunningJob
from callboard.board.jobs.work.ending import SUCCEEDED
from callboard.board.jobs.work.outcomes import Outcomes
from tests.unit.board.jobs.test_jobs import DEADLINE_S, run

CRASHES = """
import asyncio, os, signal, sys
from callboard import Callboard

async def main():
    async with Callboard(sys.argv[1]) as board:
        await board.jobs.add("a", "kept")
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.proves("J1")
def test_a_job_is_there_after_a_crash_right_after_it_was_added(tmp_path: Path) -> None:
    log = f"sqlite:///{tmp_path}/board.db"
    done = subprocess.run([sys.executable, "-c", CRASHES, log], timeout=DEADLINE_S, check=False)
    assert done.returncode == -signal.SIGKILL

    async def within() -> None:
        async with Callboard(log) as board:
            [job] = (await board.jobs.find()).items
            assert ((await board.jobs.get(job.id)) or job).payload == "kept"

    asyncio.run(within())


@pytest.mark.proves("J6", "J7")
def test_ids_grow_in_the_order_of_adding_and_stay_the_same_through_retries_and_workers(tmp_path: Path) -> None:
    seen = list[tuple[int, int]]()

    async def work(_: object, job: RunningJob) -> None:
        seen.append((job.id, job.attempt))
        if job.attempt == 1:
            raise RetryJob("once more", delay_s=0)

    async def scenario(jobs: BoardJobs) -> None:
        added = [await jobs.add("a"), *await jobs.add_all([NewJob(topic="a")] * 30), await jobs.add("b")]
        ids = [job.id for job in added]
        assert ids == sorted(set(ids))
        assert [job.id for job in (await jobs.find()).items] == ids
        for topic in ("a", "b"):
            async with jobs.worker({topic: work}, instance=topic):
                assert [(await jobs.wait(job.id)).id for job in added if job.topic == topic]
        assert sorted(seen) == sorted((job, attempt) for job in ids for attempt in (1, 2))

    run(tmp_path, scenario)


@pytest.mark.proves("J9")
def test_an_outcome_is_reported_again_until_it_is_read_back_as_its_record_may_be_lost() -> None:
    outcomes, job = Outcomes(), cast("RunningJob", SimpleNamespace(id=7, lease=70))
    outcomes.add(job, SUCCEEDED, 1)
    first = outcomes.take("w")
    outcomes.repeat()  # it may have been reported just now
    assert not outcomes._some.is_set()
    outcomes.repeat()
    assert outcomes.take("w") == first
    outcomes.repeat()
    outcomes.settle(7)
    outcomes.repeat()
    outcomes.repeat()
    assert not outcomes._some.is_set()


def test_an_outcome_is_not_reported_when_its_job_was_taken_from_the_worker() -> None:
    outcomes = Outcomes()
    former, present = (cast("RunningJob", SimpleNamespace(id=7, lease=lease)) for lease in (70, 71))
    outcomes.add(former, SUCCEEDED, 1)
    outcomes.settle(7)
    assert not outcomes._some.is_set()
    outcomes.add(present, SUCCEEDED, 1)
    assert outcomes.take("w")[1].leases == (71,)


def test_a_worker_waits_on_if_the_only_job_that_has_ended_is_taken_from_it() -> None:
    async def scenario() -> None:
        outcomes, job = Outcomes(), cast("RunningJob", SimpleNamespace(id=7, lease=70))
        waiting = asyncio.create_task(outcomes.some())
        await asyncio.sleep(0)
        outcomes.add(job, SUCCEEDED, 1)
        outcomes.settle(7)
        await asyncio.sleep(0)
        assert not waiting.done()
        outcomes.add(job, SUCCEEDED, 1)
        await asyncio.wait_for(waiting, DEADLINE_S)

    asyncio.run(scenario())
