"""Questions about jobs and schedules."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from callboard.actors.jobs.rules.telling import KINDS, JobEvent
from callboard.board.jobs.finding.finding import JobPage
from callboard.board.jobs.finding.statistics import JobStatistics
from callboard.board.jobs.finding.templates import condition_in
from callboard.board.jobs.health.report import WorkerState
from callboard.board.jobs.job import Job
from callboard.board.jobs.queues import QueueState
from callboard.board.jobs.schedules.schedule_state import ScheduleState
from callboard.door import jobs as door
from callboard.door.limits import CURSOR_CHARS_MAX, ID_CHARS_MAX, PAGE_MAX
from callboard.errors import RequestRefused
from callboard.messages.jobs.limits import JOB_MAX, NAME, PATTERN, TOPIC_CHARS_MAX
from callboard.messages.topics import job_topic
from callboard.web.api.parameters import choice, flag, ruled, text, whole
from callboard.web.api.read import Follow, Read

if TYPE_CHECKING:
    from callboard.board.board import Callboard

CONDITION_CHARS_MAX, CONDITIONS_MAX = 200, 20
"""The time that it takes to find the operator grows with the square of the first."""

JOB = whole("job", "Its id.", 0, JOB_MAX)
OF_TOPIC = ruled("topic", "Only of this topic, or pattern of topics.", door.pattern, TOPIC_CHARS_MAX, PATTERN.pattern)
KIND = choice("kind", "Only what is of this kind.", *KINDS, to="kinds").several(len(KINDS))


async def _jobs(board: "Callboard", *, where: tuple[str, ...] = (), **query: Any) -> JobPage:
    return await board.jobs.find(**query, where=dict(map(condition_in, where)))


async def _job(board: "Callboard", *, job: int) -> Job:
    if (found := await board.jobs.get(job)) is None:
        raise no_job(job)
    return found


async def _history(board: "Callboard", *, job: int) -> tuple[JobEvent, ...]:
    if not (found := await board.jobs.history(job)):
        raise no_job(job)
    return found


async def _events(board: "Callboard", **wanted: Any) -> AsyncGenerator[JobEvent, None]:
    """Unlike the board's own method, it does not create the topic, as it only reads."""
    await board.log.bounds(job_topic(board.settings.prefix))
    async with aclosing(board.jobs.events(**wanted)) as events:
        async for event in events:
            yield event


def no_job(job: int) -> RequestRefused:
    """The error for an id that no job has."""
    return RequestRefused(f"there is no job {job}, or it is forgotten", code="not_found")


JOBS = (
    Read("jobs_list", "/jobs", "Jobs that wait or run, or are in other states, the oldest first.", JobPage, _jobs,
         (choice("state", "Only in this state; default: open.", *door.STATES, to="states").several(len(door.STATES)),
          OF_TOPIC, ruled("queue", "Only of this queue.", door.named, ID_CHARS_MAX, NAME.pattern),
          text("where", "A condition on the payload, such as size>=3; all hold.", CONDITION_CHARS_MAX, least=1)
          .several(CONDITIONS_MAX),
          flag("newest", "Whether to begin with the newest."),
          whole("after", "The `after` of the page before.", -1, JOB_MAX),
          whole("limit", "How many at most.", 1, PAGE_MAX, default=100))),
    Read("jobs_stats", "/jobs/stats", "What became of all jobs: in all, and by queue, topic and worker.",
         JobStatistics, lambda board: board.jobs.statistics()),
    Read("jobs_queues", "/jobs/queues", "What waits, runs and has ended in each queue.",
         tuple[QueueState, ...], lambda board: board.jobs.queues()),
    Read("jobs_workers", "/jobs/workers", "The workers: slots, jobs that they run, topics.",
         tuple[WorkerState, ...], lambda board: board.jobs.workers()),
    Read("jobs_show", "/jobs/{job}", "One job: state, payload, result, and why it failed.", Job, _job, (JOB,)),
    Read("jobs_history", "/jobs/{job}/history", "What became of one job, and who commanded what and why.",
         tuple[JobEvent, ...], _history, (JOB,)),
    Read("schedules_list", "/schedules", "The schedules, with their next and last ticks.",
         tuple[ScheduleState, ...], lambda board, **given: board.jobs.schedules(**given), (OF_TOPIC,)),
    Read("schedules_next", "/schedules/{name}/ticks",
         "When the next ticks of a schedule are, in milliseconds since the epoch; none while it is suspended.",
         tuple[int, ...], lambda board, **given: board.jobs.next_ticks(**given),
         (ruled("name", "Of the schedule.", door.named, ID_CHARS_MAX, NAME.pattern),
          whole("limit", "How many.", 1, PAGE_MAX, default=10))),
)  # fmt: skip

JOB_EVENTS = Follow(
    "jobs_events", "/jobs/events", "What becomes of jobs, as it happens.", JobEvent,
    _events, lambda event: event.cursor,
    text("after", "The `cursor` of an event; empty begins with the oldest. Default: new ones.", CURSOR_CHARS_MAX),
    (OF_TOPIC, KIND, whole("job", "Only of this one.", 0, JOB_MAX)),
)  # fmt: skip
