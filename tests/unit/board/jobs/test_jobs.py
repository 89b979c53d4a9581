"""Jobs that are added, run and told about, on a board in memory."""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.work.running_job import RunningJob
from callboard.errors import CancelJob, NotAnswered, RequestRefused, RetryJob
from callboard.messages.jobs.job_state import JobState
from callboard.messages.record import Record

DEADLINE_S = 30.0


def run(folder: Path, scenario: Callable[[BoardJobs], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board:
            await scenario(board.jobs)

    asyncio.run(within())


def ends(folder: Path, function: Callable[..., Any], **options: Any) -> tuple[JobState, str, object]:
    """How a job ends that runs the function: its state, message and result."""
    found: list[tuple[JobState, str, object]] = []

    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("quick", ["a"], retries=2, delay_s=0.01, **options)
        async with jobs.worker({"a": function}):
            job = await jobs.wait((await jobs.add("a", {"n": 1})).id)
            found.append((job.state, job.message, job.result))

    run(folder, scenario)
    return found[0]


async def coroutine(payload: dict[str, int]) -> int:
    return payload["n"] + 1


def blocking(payload: dict[str, int]) -> str:
    assert threading.current_thread() is not threading.main_thread()
    return f"{payload}"


def no_argument() -> None:
    pass


def cancelled() -> None:
    raise CancelJob("no such address")


def raising() -> None:
    raise ValueError("a bug")


def unfit() -> object:
    return object()


def leaving() -> None:
    sys.exit(3)


async def cancels_itself() -> None:
    raise asyncio.CancelledError


def unprintable() -> None:
    raise ValueError("\udcff")


def impatient() -> None:
    raise RetryJob("at once", delay_s=-1)


def endless() -> str:
    return "x" * 20_000


@pytest.mark.proves("J10", "J14")
@pytest.mark.parametrize(
    ("function", "state", "message", "result"),
    [
        (coroutine, JobState.SUCCEEDED, "", 2),
        (blocking, JobState.SUCCEEDED, "", "{'n': 1}"),
        (no_argument, JobState.SUCCEEDED, "", None),
        (cancelled, JobState.ERROR, "no such address", None),
        (raising, JobState.GIVEN_UP, "ValueError: a bug", None),
        (unfit, JobState.GIVEN_UP, "the payload cannot be JSON", None),
        (leaving, JobState.GIVEN_UP, "SystemExit: 3", None),
        (cancels_itself, JobState.GIVEN_UP, "CancelledError", None),
        (unprintable, JobState.GIVEN_UP, "ValueError: ?", None),
        (impatient, JobState.GIVEN_UP, "at once", None),
        (endless, JobState.GIVEN_UP, "the result has 20002 bytes", None),
    ],
)
def test_a_job_ends_as_its_function_does(
    tmp_path: Path, function: Callable[..., Any], state: JobState, message: str, result: object
) -> None:
    found = ends(tmp_path, function)
    assert (found[0], found[2]) == (state, result)
    assert found[1].startswith(message)


@pytest.mark.proves("J13")
def test_a_job_that_raises_is_not_tried_again_where_its_queue_says_so(tmp_path: Path) -> None:
    assert ends(tmp_path, raising, retry_exceptions=False)[:2] == (JobState.ERROR, "ValueError: a bug")


def test_a_job_that_is_to_be_tried_again_tells_why(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("slow", ["a"], delay_s=3600)
        async with jobs.worker({"a": raising}):
            job = await jobs.add("a")
            async for event in jobs.events("", topic="a", kinds=["failed"]):
                assert event.job == job.id
                break
            found = await jobs.get(job.id)
        assert found is not None
        assert (found.state, found.attempts, found.message) == (JobState.QUEUED, 1, "ValueError: a bug")

    run(tmp_path, scenario)


@pytest.mark.parametrize("given", [{}, {"retry_exceptions": True, "retries": 0}])
def test_a_compatible_queue_ends_what_raises_unless_it_is_told_otherwise(tmp_path: Path, given: Any) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("sling", ["**"], compat=True, **given)
        async with jobs.worker({"a": raising}):
            job = await jobs.wait((await jobs.add("a")).id)
        assert (job.state, job.attempts) == ((JobState.GIVEN_UP, 1) if given else (JobState.ERROR, 0))
        its = (await jobs._read()).jobs.queues.of("a")
        assert (its.parallel, its.retries) == (15, given.get("retries", 10))
        assert (its.delay_ms, its.growth_percent) == (2000, 100)

    run(tmp_path, scenario)


@pytest.mark.proves("J100")
def test_a_job_that_takes_too_long_has_failed(tmp_path: Path) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    assert ends(tmp_path, hang, timeout_s=0.01)[:2] == (JobState.GIVEN_UP, "it took longer than 0.01 s")


def test_a_job_is_tried_again_after_the_time_that_it_asks_for(tmp_path: Path) -> None:
    attempts: list[int] = []

    def flaky(_: object, job: RunningJob) -> None:
        attempts.append(job.attempt)
        if job.attempt < 3:
            raise RetryJob("not yet", delay_s=0.001)

    assert ends(tmp_path, flaky)[0] is JobState.SUCCEEDED
    assert attempts == [1, 2, 3]


@pytest.mark.proves("J100")
def test_jobs_start_by_priority_then_by_age_and_those_of_a_lane_one_after_another(tmp_path: Path) -> None:
    started: list[object] = []
    running = [0]

    async def work(payload: object) -> None:
        started.append(payload)
        if isinstance(payload, int):
            running[0] += 1
            assert running[0] == 1
            await asyncio.sleep(0)
            running[0] -= 1

    async def scenario(jobs: BoardJobs) -> None:
        added = await jobs.add_all(
            [NewJob(topic="a", payload=n, lane="x") for n in range(5)]
            + [NewJob(topic="b", payload=f"p{n}", priority=n) for n in range(3)]
        )
        async with jobs.worker({"a": work, "b": work}, slots=10):
            await asyncio.gather(*(jobs.wait(job.id) for job in added))
        assert [each for each in started if isinstance(each, int)] == [0, 1, 2, 3, 4]
        assert [each for each in started if isinstance(each, str)] == ["p2", "p1", "p0"]

    run(tmp_path, scenario)


@pytest.mark.proves("J95", "J96", "J100")
def test_a_second_job_with_the_same_key_is_the_first(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        first, other = await jobs.add("a", 1, unique="k"), await jobs.add("a", 2, unique="k")
        assert (first.id, first.payload) == (other.id, other.payload) != (other.id, 2)
        assert len((await jobs.find()).items) == 1
        await jobs.drop(first.id)
        assert (await jobs.add("a", 3, unique="k")).id != first.id

    run(tmp_path, scenario)


def test_a_job_waits_for_its_time(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": no_argument}):
            late, soon = await jobs.add("a", delay_s=3600), await jobs.add("a", delay_s=0.01)
            assert (await jobs.wait(soon.id)).state is JobState.SUCCEEDED
            found = await jobs.get(late.id)
            assert found is not None
            assert found.state is JobState.QUEUED
            assert found.due_ms > found.created_ms + 3_000_000

    run(tmp_path, scenario)


@pytest.mark.proves("J19", "J20", "J21")
def test_a_job_is_stopped_before_it_runs_and_while_it_does(tmp_path: Path) -> None:
    begun, released = asyncio.Event(), threading.Event()

    async def patient() -> None:
        begun.set()
        await asyncio.Event().wait()

    def looks(_: object, job: RunningJob) -> None:
        while not job.stopping.is_set():
            assert not released.is_set()
        raise CancelJob("stopped")

    async def scenario(jobs: BoardJobs) -> None:
        waiting = await jobs.add("nobody")
        assert await jobs.stop(waiting.id, 12345) == (waiting.id,)
        assert (await jobs.wait(waiting.id)).state is JobState.STOPPED
        async with jobs.worker({"a": patient, "b": looks}):
            first, second = await jobs.add("a"), await jobs.add("b")
            await begun.wait()
            await jobs.stop(first.id, second.id)
            assert (await jobs.wait(first.id)).state is JobState.STOPPED
            assert (await jobs.wait(second.id)).state is JobState.STOPPED

    try:
        run(tmp_path, scenario)
    finally:
        released.set()


def test_a_worker_that_stops_gives_back_what_it_has_not_finished_without_using_an_attempt(tmp_path: Path) -> None:
    begun, blocked = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        begun.set()
        await blocked.wait()

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": hang}, slots=1, drain_s=0.05):
            added = await jobs.add_all([NewJob(topic="a"), NewJob(topic="a")])
            await begun.wait()
        for job in added:
            found = await jobs.get(job.id)
            assert found is not None
            assert (found.state, found.attempts, found.crashes) == (JobState.QUEUED, 0, 0)
        async with jobs.worker({"a": no_argument}):
            for job in added:
                assert (await jobs.wait(job.id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


@pytest.mark.proves("J59")
def test_jobs_that_no_worker_runs_are_parked_until_one_does(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        job = await jobs.add("x/y")
        async with jobs.worker({"a": no_argument}):
            [found] = (await jobs.find("queued")).items
            assert found.parked
            [queue] = await jobs.queues()
            assert (queue.name, queue.queued, queue.parked) == ("main", 1, 1)
            async with jobs.worker({"x/*": no_argument}, instance="other"):
                assert (await jobs.wait(job.id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


@pytest.mark.proves("J48")
def test_as_many_jobs_run_in_threads_as_a_worker_has_slots(tmp_path: Path) -> None:
    all_of_them = threading.Barrier(40, timeout=DEADLINE_S)

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": lambda: all_of_them.wait() * 0}, slots=40):
            added = await jobs.add_all([NewJob(topic="a", retries=0) for _ in range(40)])
            assert {(await jobs.wait(job.id)).state for job in added} == {JobState.SUCCEEDED}

    run(tmp_path, scenario)


def test_jobs_run_also_while_a_member_leads_the_cluster_that_is_no_worker(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=tmp_path) as board, board.member(instance="first") as first:
            await first.settled()
            async with board.jobs.worker({"a": no_argument}, instance="second"):
                job = await board.jobs.add("a")
                assert (await board.jobs.wait(job.id, DEADLINE_S)).state is JobState.SUCCEEDED
                leader = (await first.settled()).leader
                assert leader is not None
                assert leader.instance == "first"

    asyncio.run(scenario())


@pytest.mark.proves("J51")
def test_a_suspended_queue_starts_no_jobs(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.suspend("main")
        async with jobs.worker({"a": no_argument}):
            job = await jobs.add("a")
            with pytest.raises(NotAnswered, match="has not ended"):
                await jobs.wait(job.id, 0.2)
            await jobs.resume("main")
            assert (await jobs.wait(job.id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


def test_a_queue_that_is_neither_configured_nor_used_is_refused(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("mails-{0}", ["mail/*"])
        await jobs.add("mail/ann")
        for queue in ("main", "mails-ann"):
            await jobs.suspend(queue)
            await jobs.resume(queue)
        for command in (jobs.suspend, jobs.resume, jobs.remove_all):
            with pytest.raises(RequestRefused, match=r"no queue 'mails-anne' is .*; did you mean 'mails-ann'\?"):
                await command("mails-anne")
        for command in (jobs.find, jobs.drop_all, jobs.retry_all):
            with pytest.raises(RequestRefused, match="no queue 'nope' is configured or has had jobs"):
                await command(queue="nope")
        with pytest.raises(RequestRefused, match=r"no queue 'mails-ann' is configured; did you mean 'mails-.0.'\?"):
            await jobs.remove_queue("mails-ann")
        await jobs.remove_queue("mails-{0}")
        assert [each.name for each in await jobs.queues()] == ["main"]
        for name in ("a/b", "2a", "a:{0}"):
            with pytest.raises(RequestRefused, match="but should be letters, digits, spaces"):
                await jobs.configure(name, ["a"])

    run(tmp_path, scenario)


def test_what_jobs_have_in_common_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=tmp_path) as board:
            jobs = await board.jobs.add_all(NewJob(topic="a", payload=number) for number in range(50))
            await board.jobs.drop(*(job.id for job in jobs))
            reads, read = list[int](), board.log.read

            async def counted(topic: str, offset: int, *limits: int) -> Sequence[Record]:
                reads.append(offset)
                return await read(topic, offset, *limits)

            monkeypatch.setattr(board.log, "read", counted)
            found = [await board.jobs.get(job.id) for job in jobs]
            assert [job and job.payload for job in found] == list(range(50))
            assert sorted({*reads}) == sorted(reads)

    asyncio.run(scenario())


@pytest.mark.proves("J42", "J60")
def test_two_workers_share_the_jobs_and_the_limit_of_a_queue_holds_for_both(tmp_path: Path) -> None:
    running, most, by, full = [0], [0], set[str](), asyncio.Event()

    def function(name: str) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            by.add(name)
            running[0] += 1
            most[0] = max(most[0], running[0])
            if running[0] == 3:
                full.set()
            await full.wait()
            running[0] -= 1

        return work

    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("limited", ["a"], cluster_parallel=3)
        async with (
            jobs.worker({"a": function("one")}, instance="one", slots=2),
            jobs.worker({"a": function("two")}, instance="two", slots=2),
        ):
            added = await jobs.add_all([NewJob(topic="a") for _ in range(60)])
            for job in added:
                await jobs.wait(job.id)
        assert by == {"one", "two"}
        assert most[0] == 3

    run(tmp_path, scenario)


@pytest.mark.proves("J73", "J74", "J49")
@pytest.mark.parametrize("settings", [{"keep_s": 0}, {"keep_failed_s": 0}])
def test_jobs_that_have_ended_are_forgotten_after_their_time(tmp_path: Path, settings: dict[str, int]) -> None:
    def fail() -> None:
        raise CancelJob("no")

    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("short", ["a", "b"], **settings)
        async with jobs.worker({"a": no_argument, "b": fail}):
            gone, kept = [await jobs.add(topic) for topic in ("ab" if "keep_s" in settings else "ba")]
            while await jobs.get(gone.id) is not None:  # noqa: ASYNC110 - what changes is on the log
                await asyncio.sleep(0.01)
            assert (await jobs.wait(kept.id)).state.is_final
            assert await jobs.get(kept.id) is not None

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"topic": "a b"}, "topic is 'a b', but should be words"),
        ({"topic": "a", "payload": object()}, "the payload cannot be JSON"),
        ({"topic": "a", "payload": float("nan")}, "the payload cannot be JSON"),
        ({"topic": "a", "payload": b"x" * 300_000}, "a payload has 300000 bytes"),
        ({"topic": "a", "priority": 101}, "priority is 101"),
        ({"topic": "a", "retries": True}, "retries is True"),
        ({"topic": "a", "lane": "a\n"}, "lane is"),
    ],
)
def test_a_job_that_cannot_be_stored_is_refused(tmp_path: Path, given: Mapping[str, Any], text: str) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match=text):
            await jobs.add(**given)
        assert (await jobs.find()).items == ()

    run(tmp_path, scenario)


@pytest.mark.proves("J25", "J30")
def test_jobs_are_listed_in_pages_and_added_again_by_id(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        added = await jobs.add_all([NewJob(topic=f"a/{n % 2}", payload=n) for n in range(5)])
        page = await jobs.find(topic="a/0", limit=2)
        assert [job.id for job in page.items] == [added[0].id, added[2].id]
        assert [job.id for job in (await jobs.find(topic="a/0", limit=2, after=page.after)).items] == [added[4].id]
        assert [job.id for job in (await jobs.find(newest=True, limit=1)).items] == [added[4].id]
        with pytest.raises(RequestRefused, match="it is queued"):
            await jobs.retry(added[0].id)
        await jobs.drop(added[0].id)
        again = await jobs.retry(added[0].id)
        assert (again.payload, again.topic) == (0, "a/0")
        assert again.id > added[4].id
        with pytest.raises(RequestRefused, match="there is no such job"):
            await jobs.retry(77)

    run(tmp_path, scenario)
