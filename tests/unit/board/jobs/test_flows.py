"""Jobs that wait for others, batches, and limits of rate, on a board in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.work.running_job import RunningJob
from callboard.errors import CancelJob, RequestRefused
from callboard.messages.jobs.job_messages import BATCH_MAX, JOB_MESSAGES, JobsLeasedMessage
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import read

DEADLINE_S = 60.0


def run(folder: Path, scenario: Callable[[BoardJobs], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board:
            await scenario(board.jobs)

    asyncio.run(within())


def new(payload: object, *after: NewJob | int, **options: bool) -> NewJob:
    return NewJob(topic="a", payload=payload, after=after, **options)


async def fail(payload: object) -> object:
    if payload == "fails":
        raise CancelJob("as told")
    return payload


def test_a_job_runs_when_those_before_it_have_ended_and_knows_their_results(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        order: list[object] = []

        async def work(payload: object, running: RunningJob) -> object:
            order.append([(await told(each)).result for each in running.after] or payload)
            return payload

        async def told(job: int) -> object:
            found = await jobs.get(job)
            assert found is not None
            return found

        first, second = new(1), new(2)
        last = new(4, new3 := new(3, first), second)
        added = await jobs.add_all([first, second, new3, last])
        waiting = await jobs.get(added[3].id)
        assert waiting is not None
        assert (waiting.state, waiting.waits_for) == (JobState.QUEUED, 2)
        assert waiting.after == (added[1].id, added[2].id)
        async with jobs.worker({"a": work}, slots=4):
            assert (await jobs.wait(added[3].id)).result == 4
        assert sorted(map(str, order[:2])) == ["1", "2"]
        assert order[2:] == [[1], [2, 3]]

    run(tmp_path, scenario)


def test_jobs_after_one_that_fails_are_dropped_with_its_name_unless_they_run_all_the_same(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        fails, then = new("fails"), new("no")
        then = new("no", fails)
        anyway, last = new("yes", fails, after_failures=True), new("nor this", then)
        its = [job.id for job in await jobs.add_all([fails, then, anyway, last])]
        async with jobs.worker({"a": fail}):
            found = [await jobs.wait(job) for job in its]
        assert [job.state.name for job in found] == ["ERROR", "DROPPED", "SUCCEEDED", "DROPPED"]
        assert found[1].message == f"job {its[0]}, for which it waited, has not succeeded: error"
        assert found[3].message == f"job {its[1]}, for which it waited, has not succeeded: dropped"
        late = await jobs.add("a", after=[found[0]])
        assert (await jobs.wait(late.id)).message == found[1].message

    run(tmp_path, scenario)


def test_only_known_jobs_can_be_waited_for(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match="there is no job 7 to wait for"):
            await jobs.add_all([new(1), new(2, 7)])
        assert (await jobs.find()).items == ()
        with pytest.raises(RequestRefused, match="not before it in the same call"):
            await jobs.add_all([new(2, new(1))])
        with pytest.raises(RequestRefused, match="add that in a call of its own"):
            await jobs.add_all([only := NewJob(topic="a", unique="k"), new(2, only)])
        with pytest.raises(RequestRefused, match="after is 7, but should be a list of ids"):
            await jobs.add("a", after=7)  # type: ignore[arg-type]
        with pytest.raises(RequestRefused, match="leave out delay_s, after and context"):
            await jobs.schedule("daily", "a", cron="0 0 * * *", after=[7])

    run(tmp_path, scenario)


def test_a_job_that_is_forgotten_while_another_is_added_after_it_is_refused_by_the_log(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        before = await jobs.add("a")
        await jobs.drop(before.id)
        reading = await jobs._read()
        append = reading.log.append

        async def forget_first(topic: str, records: list[object]) -> list[int]:
            reading.log.append = append  # type: ignore[method-assign]
            await jobs.forget(before.id)
            return await append(topic, records)  # type: ignore[arg-type]

        reading.log.append = forget_first  # type: ignore[method-assign, assignment]
        with pytest.raises(RequestRefused, match=f"is to wait for job {before.id}, which is unknown or forgotten"):
            await jobs.add("a", after=[before])

    run(tmp_path, scenario)


@pytest.mark.proves("J100")
def test_a_batch_of_many_records_has_a_job_after_all_of_it_which_tells_its_progress(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        many = 2 * BATCH_MAX + 500
        then = await jobs.batch([new(place) for place in range(many)], new("done"))
        assert (len(then.after), then.waits_for) == (many, many)
        reading = await jobs._read()
        assert len(reading.jobs.options[then.id].after) == 3
        await jobs.drop(*then.after[:1000])
        now = await jobs.get(then.id)
        assert now is not None
        assert now.waits_for == many - 1000
        async with jobs.worker({"a": fail}, slots=100):
            assert (await jobs.wait(then.id)).result == "done"

    run(tmp_path, scenario)


@pytest.mark.proves("J100")
def test_no_more_jobs_start_in_any_period_than_the_rate_of_their_queue(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("slow", ["a"], rate=5, rate_s=0.3)
        added = await jobs.add_all([new(place) for place in range(13)])
        async with jobs.worker({"a": fail}, slots=50), jobs.worker({"a": fail}, slots=50, instance="other"):
            for job in added:
                await jobs.wait(job.id)
        reading = await jobs._read()
        log, topic = reading.log, jobs._topic
        starts: list[int] = []
        for record in await log.read(topic, 1, 10_000):
            message = read(record, JOB_MESSAGES, check_message)
            if isinstance(message, JobsLeasedMessage):
                starts += [record.time_ns // 1_000_000] * len(message.jobs)
        assert len(starts) == 13
        assert all(later - first >= 300 for first, later in zip(starts, starts[5:], strict=False))

    run(tmp_path, scenario)
