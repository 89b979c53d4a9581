"""``callboard jobs add``: adds a job."""

import json as plain_json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.jobs.job import Job
from callboard.board.jobs.new_job import NewJobOptions
from callboard.cli.board import on_board
from callboard.cli.jobs.options import Lane, Payload, Priority, Retries, Timeout, Title, Topic, Unique, UniqueFor
from callboard.cli.jobs.shown import job_line, job_lines
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show_result
from callboard.door.limits import TIMEOUT_S_MAX
from callboard.door.rules import checked, number
from callboard.errors import NotAnswered, RequestRefused
from callboard.messages.jobs.job_state import JobState

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def add(
    options: BoardOptions,
    topic: Topic,
    payload: Payload = None,
    delay: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Run it this much later.")] = 0.0,
    priority: Priority = 0,
    lane: Lane = "",
    unique: Unique = "",
    unique_for: UniqueFor = 0.0,
    retries: Retries = None,
    timeout: Timeout = 0,
    title: Title = "",
    after: Annotated[
        list[int] | None, typer.Option(metavar="ID", min=0, help="Run it when this job has ended; repeatable.")
    ] = None,
    after_failures: Annotated[bool, typer.Option("--after-failures", help="Also if that does not succeed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would happen.")] = False,
    wait: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Wait for its end.")] = None,
    json: Json = False,
) -> None:
    """Add a job; with --wait, wait for its result: exit code 1 unless it succeeds in time."""
    said = NewJobOptions(
        delay_s=delay, priority=priority, lane=lane, unique=unique, unique_s=unique_for, retries=retries,
        timeout_s=timeout, title=title, after=after or (), after_failures=after_failures,
    )  # fmt: skip
    value = payload_value(payload)
    if wait is not None:
        checked(RequestRefused, {"--wait": number(0, TIMEOUT_S_MAX)}, {"--wait": wait})
    if dry_run:
        plan = on_board(options, lambda board: board.jobs.plan(topic, value, **said))
        show_result(plan, *(f"{name}: {_words(its)}" for name, its in asdict(plan).items()), json=json)
        raise typer.Exit(FOUND if plan.refused else 0)

    async def work(board: "Callboard") -> tuple[Job, str]:
        job = await board.jobs.add(topic, value, **said)
        if wait is None:
            return job, ""
        try:
            return await board.jobs.wait(job.id, wait), ""
        except NotAnswered as late:
            return await board.jobs.get(job.id) or job, str(late)

    job, late = on_board(options, work)
    show_result(job, *([job_line(job)] if wait is None else job_lines(job)), json=json)
    if late:
        say(late)
    if wait is not None and job.state is not JobState.SUCCEEDED:
        raise typer.Exit(FOUND)


def _words(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def payload_value(payload: str | None) -> object:
    """The payload, from JSON. Raises ``RequestRefused``."""
    try:
        return None if payload is None else plain_json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(
            f'the payload is no JSON: {error}; write it as \'{{"to": "ann"}}\', and a text as \'"ann"\''
        ) from error
