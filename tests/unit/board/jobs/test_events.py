"""What becomes of jobs is followed on a board in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import callboard.sync
from callboard import Callboard, JobEvent, Retention
from callboard.actors.jobs.snapshots.taking import parts
from callboard.backends.logs.memory import MemoryLog
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.errors import CancelJob, LogReplaced, RequestRefused
from callboard.messages.headers import new_record
from callboard.messages.topics import job_topic
from tests.unit.board.events.test_events import run as run_on_two_boards

DEADLINE_S = 30.0


def run(folder: Path, scenario: Callable[[BoardJobs], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board:
            await scenario(board.jobs)

    asyncio.run(within())


async def all_of(jobs: BoardJobs, after: str | None = "", **wanted: object) -> list[JobEvent]:
    return [event async for event in jobs.events(after, follow=False, **wanted)]  # type: ignore[arg-type]


def flaky() -> None:
    raise ValueError("a bug")


def cancelled() -> None:
    raise CancelJob("no such address")


@pytest.mark.proves("J57")
def test_events_are_followed_as_they_happen_and_again_from_each_place(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        assert await all_of(jobs) == []
        live = jobs.events(kinds=["added", "started", "failed", "given_up"], topic="flaky")
        await jobs.configure("quick", ["flaky"], retries=1, delay_s=0.001)
        async with jobs.worker({"flaky": flaky, "other": cancelled}, instance="web-1"):
            first = asyncio.ensure_future(anext(live))
            await asyncio.sleep(0)
            many = [(await jobs.add("flaky")).id, (await jobs.add("other")).id]
            seen = [await first, *[await anext(live) for _ in range(4)]]
            for job in many:
                await jobs.wait(job)
        await live.aclose()
        assert [(event.kind, event.attempt, event.worker) for event in seen] == [
            ("added", 0, ""), ("started", 1, "web-1"), ("failed", 1, "web-1"), ("started", 2, "web-1"),
            ("given_up", 2, "web-1"),
        ]  # fmt: skip
        assert [event.message for event in seen[2::2]] == ["ValueError: a bug"] * 2
        everything = await all_of(jobs)
        assert [event for event in everything if event in seen] == seen
        assert {event.kind for event in await all_of(jobs, topic="other")} == {"added", "started", "error"}
        for place, event in enumerate(everything):
            assert await all_of(jobs, event.cursor) == everything[place + 1 :]
        assert await all_of(jobs, None) == []

    run(tmp_path, scenario)


def test_a_place_within_a_batch_is_kept(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.add_all(jobs_of("a", 5))
        events = await all_of(jobs)
        assert len({event.offset for event in events}) == 1
        assert [len(await all_of(jobs, event.cursor)) for event in events] == [4, 3, 2, 1, 0]

    run(tmp_path, scenario)


def jobs_of(topic: str, many: int) -> list[callboard.NewJob]:
    return [callboard.NewJob(topic=topic) for _ in range(many)]


@pytest.mark.proves("J58")
def test_the_history_of_a_job_says_who_commanded_what_and_why(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        job = await jobs.add("a")
        await jobs.add("b")
        await jobs.drop(job.id, author="ann", reason="full")
        assert [(event.kind, event.author, event.reason) for event in (await jobs.history(job.id))[1:]] == [
            ("dropped", "ann", "full")
        ]
        assert await jobs.history(7) == ()

    run(tmp_path, scenario)


def test_what_was_trimmed_is_refused_with_the_oldest_place_there_is(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.add("a")
        [first] = await all_of(jobs)
        await jobs.add("a")
        log = jobs._board.log
        await log.trim(job_topic(), Retention(below_offset=(await log.bounds(job_topic())).end))
        with pytest.raises(RequestRefused, match="were removed; the oldest that is known follows") as refused:
            await all_of(jobs, first.cursor)
        assert refused.value.code == "gone"
        assert await all_of(jobs, str(refused.value).split()[-1]) == []

    run(tmp_path, scenario)


def test_events_after_a_snapshot_are_those_that_were_told_before_the_topic_was_trimmed(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        log, early = jobs._board.log, await jobs.add("a")
        reading = await jobs._read()
        as_of = reading.next - 1
        snapshot = parts(reading.jobs, await log.identity(job_topic()), as_of, "test")
        await log.append(
            job_topic(), [new_record(each, record_id=f"{each.part}", time_ns=1, producer="test") for each in snapshot]
        )
        late = await jobs.add("b")
        await jobs.drop(early.id, late.id, author="ann")
        before = await all_of(jobs)
        await log.trim(job_topic(), Retention(below_offset=as_of + 1))
        assert await all_of(jobs) == before[1:]
        assert [event.kind for event in await jobs.history(early.id)] == ["dropped"]
        assert await all_of(jobs, before[0].cursor) == before[1:]
        assert await all_of(jobs, before[1].cursor) == before[2:]

    run(tmp_path, scenario)


def test_a_topic_that_is_replaced_ends_what_follows_it(tmp_path: Path) -> None:
    log = MemoryLog()

    async def scenario(one: Callboard, _: Callboard) -> None:
        jobs = one.jobs
        await jobs.add("a")
        [added] = await all_of(jobs)
        live = jobs.events("")
        await anext(live)
        del log._topics[job_topic()]
        await log.ensure(job_topic())
        with pytest.raises(LogReplaced):
            await anext(live)
        with pytest.raises(RequestRefused, match="this cursor is for another log"):
            await all_of(jobs, added.cursor)

    run_on_two_boards(tmp_path, scenario, log)


def test_events_are_followed_without_an_event_loop(tmp_path: Path) -> None:
    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        job = board.jobs.add("a")
        assert [event.kind for event in board.jobs.events("", follow=False)] == ["added"]
        assert next(iter(board.jobs.events(""))).job == job.id
        assert [event.kind for event in board.jobs.history(job.id)] == ["added"]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [({"kinds": ["exploded"]}, r"kinds\[0\] is 'exploded'"), ({"job": -1}, "job is -1"), ({"topic": "//"}, "topic is")],
)
def test_wrong_arguments_are_refused(tmp_path: Path, wanted: dict[str, object], why: str) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match=why):
            await all_of(jobs, **wanted)  # type: ignore[arg-type]
        await jobs.add("a")
        with pytest.raises(RequestRefused, match="is no cursor"):
            await all_of(jobs, "17")

    run(tmp_path, scenario)
