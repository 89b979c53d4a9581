"""``callboard jobs list``, ``show``, ``queues``, ``workers`` and ``watch``: show jobs, and who runs them."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.backends.examination import Finding, Level
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.finding.finding import JobPage
from callboard.board.jobs.health.checkup import examine_jobs
from callboard.board.jobs.health.report import WorkerState
from callboard.board.jobs.job import Job
from callboard.board.jobs.queues import QueueState
from callboard.board.jobs.wording import since, state_words, worker_topics
from callboard.cli.board import on_board
from callboard.cli.jobs.many import OfQueue, OfTopic, Where, demand_topic, query
from callboard.cli.jobs.shown import job_lines
from callboard.cli.options import BoardOptions, Json, Limit
from callboard.cli.terminal.output import say, show_json, show_list, show_next, show_result, show_table
from callboard.cli.terminal.output import show as show_lines
from callboard.door import jobs as door
from callboard.door.rules import checked
from callboard.errors import RequestRefused
from callboard.messages.jobs.job_state import OPEN, JobState

if TYPE_CHECKING:
    from callboard.board.board import Callboard

REFRESH_S = 0.25
"""Between two screens: what changes in the meantime is shown together."""

QUEUE_COLUMNS = ("QUEUE", "<QUEUED>", "<ACTIVE>", "<PARKED>", "<ENDED>", "STATE", "TOPICS")

States = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="STATE", help="Only these, or history; repeatable. Default: open."),
]
JobId = Annotated[int, typer.Argument(metavar="ID", min=0, help="The job.", show_default=False)]


def list_jobs(
    options: BoardOptions,
    state: States = None,
    every: Annotated[bool, typer.Option("--all", help="In all states.")] = False,
    topic: OfTopic = None,
    queue: OfQueue = None,
    where: Where = None,
    newest: Annotated[bool, typer.Option("--newest", help="Begin with the newest.")] = False,
    after: Annotated[int, typer.Option(metavar="ID", min=-1, help="The page after the one that ended here.")] = -1,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List jobs, the oldest first; runs without a name."""
    every = every or "all" in (state or ())
    states = tuple(JobState) if every else _states(state or ()) or OPEN
    asked = query(topic, queue, where)

    async def work(board: "Callboard") -> JobPage:
        await demand_topic(board, topic)
        return await board.jobs.find(states, after=after, limit=limit, newest=newest or None, **asked)

    page = on_board(options, work)
    if json:
        show_json(page)
    elif page.items or page.after >= 0:
        columns = ("<ID>", "STATE", "TOPIC", "QUEUE", "<AGE>", "<FAILED>", "WORKER", "TITLE")
        show_table(columns, map(_row, page.items))
        if page.after >= 0:
            show_lines("", f"there is more: --after {page.after}")
    elif after >= 0:
        show_lines(f"no job comes after {after}")
    else:
        show_lines("no such job" if every or state or asked else "no job waits or runs; --all includes the others")


def _states(given: Iterable[str]) -> list[JobState]:
    found = (checked(RequestRefused, {"--state": door.states}, {"--state": each})["--state"] for each in given)
    return [state for states in found for state in states]


def _row(job: Job) -> Iterable[str]:
    now_ms = time.time() * 1000
    ago, failed = since(job.ended_ms or job.created_ms, now_ms), str(job.attempts or "")
    return str(job.id), state_words(job, now_ms), job.topic, job.queue, ago, failed, job.worker, job.title


def show(options: BoardOptions, job: JobId, json: Json = False) -> None:
    """Show a job: state, payload, result, and why it failed."""
    found = on_board(options, lambda board: known(board.jobs, job))
    show_result(found, *job_lines(found), json=json)


async def known(jobs: BoardJobs, job: int) -> Job:
    """The job. Raises ``RequestRefused`` if there is none with this id."""
    if (found := await jobs.get(job)) is None:
        raise RequestRefused(
            f"there is no job {job}; `callboard jobs list --all` shows those there are", code="not_found"
        )
    return found


def queues(options: BoardOptions, json: Json = False) -> None:
    """Show what waits, runs and has ended in each queue."""
    found = on_board(options, lambda board: board.jobs.queues())
    show_list(found, QUEUE_COLUMNS, queue_row, json=json)


def workers(options: BoardOptions, json: Json = False) -> None:
    """Show the workers: slots, jobs that they run, topics, and which of them leases jobs to all."""

    async def work(board: "Callboard") -> tuple[tuple[WorkerState, ...], list[Finding]]:
        return await board.jobs.workers(), await examine_jobs(board.context)

    found, health = on_board(options, work)
    columns = ("WORKER", "STATE", "<SLOTS>", "<RUNNING>", "DISPATCHES", "TOPICS", "TAGS")
    show_list(found, columns, _worker_row, none="there is no worker; start one by `callboard run worker`", json=json)
    for each in health if found else ():
        if each.level is Level.PROBLEM:
            say(f"problem: {each.what}; {each.fix}")


def _worker_row(its: WorkerState) -> Iterable[str]:
    state, dispatches = "live" if its.live else "dead", "yes" * its.dispatches
    return its.instance, state, str(its.slots), str(its.running), dispatches, worker_topics(its), " ".join(its.tags)


def watch(options: BoardOptions, json: Json = False) -> None:
    """Show what waits, runs and has ended in each queue, as it changes, until Ctrl-C."""

    async def lines(board: "Callboard") -> None:
        before: dict[str, QueueState] = {}
        async with aclosing(board.jobs.watch()) as states:
            async for found in states:
                changed = (_queue_line(each) for each in found if before.get(each.name) != each)
                show_next(found, *changed, json=json)
                before = {each.name: each for each in found}
                await asyncio.sleep(REFRESH_S)

    on_board(options, lines, endless=True)


def queue_row(queue: QueueState) -> tuple[str, ...]:
    """The values of its columns."""
    counts = (queue.queued, queue.active, queue.parked, queue.ended)
    return queue.name, *map(str, counts), "suspended" if queue.suspended else "", " ".join(queue.topics)


def _queue_line(queue: QueueState) -> str:
    counts = f"{queue.queued} queued, {queue.active} active, {queue.parked} parked, {queue.ended} ended"
    return f"{queue.name}: {counts}{', suspended' * queue.suspended}"
