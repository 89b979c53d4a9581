"""``callboard jobs add``: adds a job."""

import json as plain_json
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.jobs.job import Job
from callboard.board.jobs.new_job import NewJobOptions
from callboard.cli.board import on_board
from callboard.cli.jobs.shown import job_data, job_lines, state_words
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show, show_json
from callboard.errors import NotAnswered, RequestRefused
from callboard.messages.jobs.job_state import JobState

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def add(
    options: BoardOptions,
    topic: Annotated[str, typer.Argument(help="What to do, such as mail/send.", show_default=False)],
    payload: Annotated[
        str | None, typer.Argument(metavar="[PAYLOAD]", help="JSON for the function that runs it.", show_default=False)
    ] = None,
    delay: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Run it this much later.")] = 0.0,
    priority: Annotated[int, typer.Option(min=-100, max=100, help="Of those that are due, the highest first.")] = 0,
    lane: Annotated[str, typer.Option(metavar="NAME", help="Jobs of a lane run one after another.")] = "",
    unique: Annotated[str, typer.Option(metavar="KEY", help="Not while one with this key is unfinished.")] = "",
    unique_for: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Nor so soon after it was added.")] = 0.0,
    retries: Annotated[int | None, typer.Option(min=-1, help="Default: as its queue says; -1: no limit.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="For an attempt; 0: as its queue says.")] = 0,
    title: Annotated[str, typer.Option(help="For display.")] = "",
    wait: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Wait for its end.")] = None,
    json: Json = False,
) -> None:
    """Add a job; with --wait, wait for its result: exit code 1 unless it succeeds in time."""
    said = NewJobOptions(
        delay_s=delay, priority=priority, lane=lane, unique=unique, unique_s=unique_for, retries=retries,
        timeout_s=timeout, title=title,
    )  # fmt: skip
    value = _value(payload)

    async def work(board: "Callboard") -> tuple[Job, str]:
        job = await board.jobs.add(topic, value, **said)
        if wait is None:
            return job, ""
        try:
            return await board.jobs.wait(job.id, wait), ""
        except NotAnswered as late:
            return await board.jobs.get(job.id) or job, str(late)

    job, late = on_board(options, work)
    if json:
        show_json(job_data(job))
    elif wait is not None:
        show(*job_lines(job))
    else:
        show(f"job {job.id}, {job.topic}: {state_words(job)}")
    if late:
        say(late)
    if wait is not None and job.state is not JobState.SUCCEEDED:
        raise typer.Exit(FOUND)


def _value(payload: str | None) -> object:
    try:
        return None if payload is None else plain_json.loads(payload)
    except ValueError as error:
        raise RequestRefused(
            f'the payload is no JSON: {error}; write it as \'{{"to": "ann"}}\', and a text as \'"ann"\''
        ) from error
