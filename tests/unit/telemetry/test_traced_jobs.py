"""What a trace shows of a job, of an event and of a command: the span that led to it, in whichever process it runs."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from callboard import Callboard, DistributedEvent, NewJob, RetryJob, RunningJob
from callboard.board.jobs.log_context import context_here
from callboard.board.jobs.outbox.within import columns
from callboard.messages.jobs.limits import CONTEXT_NAMES_MAX
from callboard.telemetry.spans import producing
from tests.unit.telemetry.conftest import Spans, ids, linked, parent
from tests.unit.telemetry.job_process import jobs

DEADLINE_S = 60.0
TEN = {f"name {n}": "value" for n in range(CONTEXT_NAMES_MAX)}
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def run(scenario: Callable[[Callboard], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:") as board:
            await scenario(board)

    asyncio.run(limited())


def test_an_attempt_is_linked_with_the_span_that_added_its_job(spans: Spans) -> None:
    def send(_: object, job: RunningJob) -> None:
        with spans.tracer.start_as_current_span(f"send {job.attempt}"):
            pass
        if job.attempt == 1:
            raise RetryJob("busy", delay_s=0)

    async def scenario(board: Callboard) -> None:
        async with board.jobs.worker({"mail/send": send}):
            with spans.tracer.start_as_current_span("order"):
                job = await board.jobs.add("mail/send", 1)
            await board.jobs.wait(job.id)
        added, attempts = spans.one("add mail/send"), spans.named("run mail/send")
        assert parent(added) == ids(spans.one("order"))
        assert added.attributes["messaging.message.id"] == str(job.id)
        assert [linked(each) for each in attempts] == [[ids(added)], [ids(added)]]
        assert [parent(each) for each in attempts] == [None, None]
        assert [parent(spans.one(f"send {n}")) for n in (1, 2)] == [ids(each) for each in attempts]
        assert [each.attributes["callboard.outcome"] for each in attempts] == ["failed", "succeeded"]
        assert attempts[0].status.description == "busy"
        assert attempts[1].status.status_code is StatusCode.UNSET

    run(scenario)


def test_jobs_added_at_once_by_several_requests_have_each_their_own(spans: Spans) -> None:
    async def send(name: str) -> None:
        trace.get_current_span().set_attribute("payload", name)

    async def scenario(board: Callboard) -> None:
        async def request(name: str) -> int:
            with spans.tracer.start_as_current_span(name):
                context = {"order": name} if name < "e" else None
                return (await board.jobs.add("mail/send", name, context=context)).id

        async with board.jobs.worker({"mail/send": send}):
            await asyncio.gather(*(board.jobs.wait(job) for job in await asyncio.gather(*map(request, "abcdefgh"))))
        of_request = {ids(spans.one(name))[0]: name for name in "abcdefgh"}
        assert len(of_request) == 8
        for attempt in spans.named("run mail/send"):
            [(trace_id, _)] = linked(attempt)
            assert of_request[trace_id] == attempt.attributes["payload"]

    run(scenario)


def test_an_error_whose_text_cannot_be_known_ends_its_attempt_as_any_other(spans: Spans) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    async def fail(_: object) -> None:
        raise Mute

    async def scenario(board: Callboard) -> None:
        async with board.jobs.worker({"a": fail}):
            job = await board.jobs.add("a", retries=0)
            assert (await board.jobs.wait(job.id)).state.is_final
        assert spans.one("run a").attributes["error.type"] == "Mute"

    run(scenario)


def test_the_function_of_a_job_in_a_process_goes_on_with_its_attempt(spans: Spans) -> None:
    async def scenario(board: Callboard) -> None:
        async with board.jobs.worker(jobs):
            job = await board.jobs.add("which/span")
            done = await board.jobs.wait(job.id)
        attempt = spans.one("run which/span")
        assert done.result == list(ids(attempt))

    run(scenario)


@pytest.mark.parametrize(
    ("own", "has"),
    [(None, True), ({}, True), ({"order": "12"}, True), (TEN, False), ({"traceparent": GIVEN}, GIVEN)],
    ids=["none", "empty", "one", "full", "given"],
)
def test_a_job_has_its_span_beside_its_own_context(
    spans: Spans, own: dict[str, str] | None, has: bool | str
) -> None:
    async def scenario(board: Callboard) -> None:
        await board.jobs.add("a", context=own)
        seen: list[RunningJob] = []

        async def look(_: object, job: RunningJob) -> None:
            seen.append(job)

        async with board.jobs.worker({"a": look}):
            job = await board.jobs.add("a", context=own)
            await board.jobs.wait(job.id)
        context = dict(seen[-1].context)
        trace_id = f"{ids(spans.named('add a')[-1])[0]:032x}"
        wanted = context.pop("traceparent", "")
        assert (trace_id in wanted) if has is True else wanted == (has or "")
        assert context == {name: text for name, text in (own or {}).items() if name != "traceparent"}

    run(scenario)


def test_a_job_in_the_outbox_has_the_span_too(spans: Spans) -> None:
    jobs = [NewJob(topic="a"), NewJob(topic="a", context={"order": "12"}), NewJob(topic="a", context=TEN)]
    with producing("add", "a", {}) as span:
        _, _, options = columns(jobs, context_here((), span))
    contexts = [json.loads(each)["context"] for each in options]
    assert contexts == [{"traceparent": span.traceparent}, {"order": "12", "traceparent": span.traceparent}, TEN]


def test_a_function_that_handles_an_event_has_a_span_linked_with_that_of_its_publisher(spans: Spans) -> None:
    async def scenario(board: Callboard) -> None:
        handled = asyncio.Event()
        loop = asyncio.get_running_loop()

        def handle(event: DistributedEvent) -> None:  # in a thread
            with spans.tracer.start_as_current_span("mine"):
                pass
            loop.call_soon_threadsafe(handled.set)

        async with board.events.listen("shop/*") as listener:
            listening = asyncio.create_task(listener.run(handle))
            await board.events.publish("shop/price", {"cents": 5})
            await handled.wait()
            while not spans.named("handle shop/price"):  # noqa: ASYNC110 - the end of a span tells nobody
                await asyncio.sleep(0)
            listening.cancel()
        published, its = spans.one("publish shop/price"), spans.one("handle shop/price")
        assert linked(its) == [ids(published)]
        assert parent(spans.one("mine")) == ids(its)
        [event] = await board.events.find("shop/*")
        assert f"{ids(published)[1]:016x}" in event.traceparent

    run(scenario)
