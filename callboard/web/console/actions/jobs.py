"""Commands about jobs, and about their queues."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from callboard.board.jobs.job import Job
from callboard.board.jobs.wording import state_words
from callboard.door.names import unknown
from callboard.errors import RequestRefused
from callboard.messages.jobs.limits import JOB_MAX
from callboard.web.console.actions.action import Action, Outcome, Parameter, Values
from callboard.web.console.page import Question

if TYPE_CHECKING:
    from callboard.board.board import Callboard

JOB = Parameter("job", "The job", JOB_MAX)
QUEUE = Parameter("queue", "The queue")

Perform = Callable[["Callboard", Values, str, str], Awaitable[Outcome]]


async def job_of(board: "Callboard", job: int) -> Job:
    """The job. Raises ``RequestRefused`` if there is none with this id."""
    if (found := await board.jobs.get(job)) is None:
        raise RequestRefused(f"there is no job {job}; it may be forgotten", code="not_found")
    return found


def _state(*, ended: bool) -> Callable[[Question, Values], Awaitable[tuple[str, Values]]]:
    async def foresee(asked: Question, values: Values) -> tuple[str, Values]:
        its = await job_of(asked.board, values["job"])
        if its.state.is_final is not ended:
            then = "it has not ended" if ended else "it has ended"
            raise RequestRefused(f"job {its.id}, {its.topic}: {then}, and is {its.state.name.lower()}", code="live")
        return f"Job {its.id}, {its.topic}: {state_words(its, asked.board.context.now_ns() / 1e6)}.", values

    return foresee


def _end(word: str, *, drop: bool) -> Perform:
    async def perform(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
        job, jobs = values["job"], board.jobs
        done = await (jobs.drop if drop else jobs.stop)(job, author=author, reason=reason)
        return Outcome(bool(done), f"job {job} is {word}" if done else f"job {job} ended before, or is unknown")

    return perform


async def _retry(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
    again = await board.jobs.retry(values["job"], author=author, reason=reason)
    return Outcome(accepted=True, text=f"job {again.id} was added; it repeats job {values['job']}")


async def _queue(asked: Question, values: Values) -> tuple[str, Values]:
    queues = {each.name: each for each in asked.reading.queues}
    if (its := queues.get(values["queue"])) is None:
        raise unknown("queue", values["queue"], queues)
    suspended = ", and it is suspended" if its.suspended else ""
    return f"{its.name}: {its.queued} queued, {its.active} active{suspended}.", values


def _suspend(*, undo: bool) -> Perform:
    async def perform(board: "Callboard", values: Values, author: str, reason: str) -> Outcome:
        queue, jobs = values["queue"], board.jobs
        await (jobs.resume if undo else jobs.suspend)(queue, author=author, reason=reason)
        return Outcome(accepted=True, text=f"{queue} is {'resumed' if undo else 'suspended'}")

    return perform


ACTIONS = (
    Action(
        "stop-job", "Stop", "A job that waits ends; one that runs is told to.",
        (JOB,), _state(ended=False), _end("stopped, or told to stop", drop=False), dangerous=True,
    ),
    Action(
        "drop-job", "Drop", "Ends the job at once. If it runs it is cancelled, and its result is ignored.",
        (JOB,), _state(ended=False), _end("dropped", drop=True), dangerous=True,
    ),
    Action(
        "retry-job", "Run again", "Adds a job that has ended once more, under a new id.",
        (JOB,), _state(ended=True), _retry,
    ),
    Action(
        "suspend-queue", "Suspend", "Starts no more jobs of the queue; those that run go on.",
        (QUEUE,), _queue, _suspend(undo=False),
    ),
    Action(
        "resume-queue", "Resume", "Starts jobs of the queue again.", (QUEUE,), _queue, _suspend(undo=True),
    ),
)  # fmt: skip
