"""What the code that adds a job has bound in its logs is bound in the logs of the job's function."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.contextvars import bound_contextvars, get_contextvars

from callboard import Callboard, CallboardError, NewJob, RetryJob, RunningJob
from callboard import sync as blocking
from tests.unit.board.jobs.logs.in_process import jobs

DEADLINE_S = 30.0
NAMES = ("request_id", "traceparent", "count")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    structlog.contextvars.clear_contextvars()


class Seen:
    """What functions have seen, by payload."""

    def __init__(self) -> None:
        self.bound: dict[Any, list[dict[str, Any]]] = {}
        self.jobs: dict[Any, RunningJob] = {}

    async def look(self, payload: object, job: RunningJob) -> None:
        self.jobs[payload] = job
        self.bound.setdefault(payload, []).append(get_contextvars())
        structlog.contextvars.bind_contextvars(left="behind")

    def look_in_thread(self, payload: object, job: RunningJob) -> None:
        asyncio.run(self.look(payload, job))

    async def fail_once(self, payload: object, job: RunningJob) -> None:
        await self.look(payload, job)
        if job.attempt == 1:
            raise RetryJob("again", delay_s=0)

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return {"a": self.look, "thread": self.look_in_thread, "retry": self.fail_once}

    def context(self, payload: object) -> dict[str, Any]:
        [bound] = self.bound[payload]
        return {name: value for name, value in bound.items() if name not in ("job", "topic", "attempt")}


def run(folder: Path, scenario: Callable[[Callboard, Seen], Awaitable[None]], names: tuple[str, ...] = NAMES) -> None:
    async def within() -> None:
        seen = Seen()
        async with (
            asyncio.timeout(DEADLINE_S),
            Callboard("memory:", base=folder, job_context=names) as board,
            board.jobs.worker(seen.functions, slots=1),
        ):
            await scenario(board, seen)

    asyncio.run(within())


@pytest.mark.parametrize("topic", ["a", "thread"])
def test_the_named_context_is_bound_with_the_job_and_nothing_else_is(tmp_path: Path, topic: str) -> None:
    async def scenario(board: Callboard, seen: Seen) -> None:
        with bound_contextvars(request_id="r-1", password="secret", count=7):
            job = await board.jobs.add(topic, 1)
        await board.jobs.wait(job.id)
        assert seen.bound[1] == [{"request_id": "r-1", "count": "7", "job": job.id, "topic": topic, "attempt": 1}]
        assert seen.jobs[1].context == {"request_id": "r-1", "count": "7"}
        records = await board.log.read("callboard.job", (await board.log.bounds("callboard.job")).first)
        assert not any(b"secret" in record.payload for record in records)

    run(tmp_path, scenario)


def test_a_function_in_a_process_of_its_own_has_the_context(tmp_path: Path) -> None:
    async def within() -> None:
        board = Callboard("memory:", base=tmp_path, job_context=NAMES)
        async with asyncio.timeout(DEADLINE_S), board, board.jobs.worker(jobs, slots=1):
            for request in ("r-1", "r-2"):
                with bound_contextvars(request_id=request):
                    job = await board.jobs.add("process")
                found = (await board.jobs.wait(job.id)).result
                assert found == {"request_id": request, "job": job.id, "topic": "process", "attempt": 1}

    asyncio.run(within())


def test_a_job_has_not_the_context_of_the_one_before(tmp_path: Path) -> None:
    async def scenario(board: Callboard, seen: Seen) -> None:
        with bound_contextvars(request_id="r-1"):
            await board.jobs.add("a", 1)
        last = await board.jobs.add("a", 2)
        await board.jobs.wait(last.id)
        assert (seen.context(1), seen.context(2)) == ({"request_id": "r-1"}, {})

    run(tmp_path, scenario)


def test_all_attempts_and_a_job_that_is_added_again_have_the_context(tmp_path: Path) -> None:
    async def scenario(board: Callboard, seen: Seen) -> None:
        with bound_contextvars(request_id="r-1"):
            job = await board.jobs.add("retry", 1)
        await board.jobs.wait(job.id)
        with bound_contextvars(request_id="of the operator"):
            again = await board.jobs.retry(job.id)
        await board.jobs.wait(again.id)
        told = [(each["request_id"], each["attempt"]) for each in seen.bound[1]]
        assert told == [("r-1", 1), ("r-1", 2), ("r-1", 1), ("r-1", 2)]

    run(tmp_path, scenario)


def test_a_job_can_be_given_a_context_and_calls_that_are_appended_together_keep_theirs(tmp_path: Path) -> None:
    async def add(board: Callboard, number: int) -> None:
        with bound_contextvars(request_id=f"r-{number}"):
            await board.jobs.add_all([NewJob(topic="a", payload=number), NewJob(topic="a", payload=number + 10)])

    async def scenario(board: Callboard, seen: Seen) -> None:
        async with asyncio.TaskGroup() as adding:
            for number in range(3):
                adding.create_task(add(board, number))
        with bound_contextvars(request_id="r-9"):
            first = NewJob(topic="a", payload="first", context={"order": "12"})
            second = NewJob(topic="a", payload="second", context={}, after=[first])
            last = await board.jobs.batch([first, second], then=NewJob(topic="a", payload="then"))
        await board.jobs.wait(last.id)
        assert [seen.context(each)["request_id"] for each in (0, 1, 2, 10, 11, 12, "then")] == [
            "r-0", "r-1", "r-2", "r-0", "r-1", "r-2", "r-9",
        ]  # fmt: skip
        assert (seen.context("first"), seen.context("second")) == ({"order": "12"}, {})
        assert first.context == {"order": "12"}

    run(tmp_path, scenario)


def test_a_long_value_is_cut_and_one_without_a_text_does_no_harm(tmp_path: Path) -> None:
    class Shy:
        def __str__(self) -> str:
            raise ValueError

    async def scenario(board: Callboard, seen: Seen) -> None:
        with bound_contextvars(request_id="x" * 1000, traceparent=Shy(), count="\udcff"):
            job = await board.jobs.add("a", 1)
        await board.jobs.wait(job.id)
        unsaid = "its text cannot be known: ValueError"
        assert seen.context(1) == {"request_id": "x" * 200, "traceparent": unsaid, "count": "?"}

    run(tmp_path, scenario)


def test_without_names_nothing_is_kept(tmp_path: Path) -> None:
    async def scenario(board: Callboard, seen: Seen) -> None:
        with bound_contextvars(request_id="r-1"):
            job = await board.jobs.add("a", 1)
        await board.jobs.wait(job.id)
        assert (seen.context(1), seen.jobs[1].context) == ({}, {})

    run(tmp_path, scenario, names=())


def test_a_service_without_an_event_loop_has_it_in_each_of_its_threads(tmp_path: Path) -> None:
    seen = Seen()
    with (
        blocking.Callboard("memory:", base=tmp_path, job_context=["request_id"]) as board,
        board.jobs.worker(seen.functions),
    ):
        with bound_contextvars(request_id="r-1"):
            job = board.jobs.add("thread", 1)
        board.jobs.wait(job.id)
    assert seen.context(1) == {"request_id": "r-1"}


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ("request_id", "context is 'request_id', but should be a mapping"),
        ({"": "x"}, "context has a key that is ''"),
        ({"a": 1}, r"context\['a'\] is 1"),
        ({"a": "x" * 201}, "should be a text of 0 to 200 characters|200 characters"),
        ({str(each): "" for each in range(11)}, "up to 10 keys"),
    ],
)
def test_a_context_that_cannot_be_stored_is_refused(tmp_path: Path, context: Any, why: str) -> None:
    async def scenario(board: Callboard, _: Seen) -> None:
        with pytest.raises(CallboardError, match=why):
            await board.jobs.add("a", 1, context=context)
        with pytest.raises(CallboardError, match=why):
            await board.jobs.add_all([NewJob(topic="a", context=context)])

    run(tmp_path, scenario)


def test_a_schedule_has_no_context_and_names_are_checked(tmp_path: Path) -> None:
    async def scenario(board: Callboard, _: Seen) -> None:
        with pytest.raises(CallboardError, match="leave out delay_s, after and context"):
            await board.jobs.schedule("a", "a", every_s=60, context={"a": "b"})

    run(tmp_path, scenario)
    with pytest.raises(CallboardError, match="job_context is 'request_id', but should be a list"):
        Callboard("memory:", job_context="request_id")  # type: ignore[arg-type]  # the mistake
