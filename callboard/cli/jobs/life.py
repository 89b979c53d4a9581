"""``callboard jobs history`` and ``events``: what became of jobs."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.jobs.wording import event_words
from callboard.cli.board import on_board
from callboard.cli.jobs.listing import JobId
from callboard.cli.jobs.many import demand_topic
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show_json, show_list, show_next
from callboard.errors import RequestRefused

if TYPE_CHECKING:
    from callboard.actors.jobs.rules.telling import JobEvent
    from callboard.board.board import Callboard


def history(options: BoardOptions, job: JobId, json: Json = False) -> None:
    """Show the life of a job: each event, who commanded it, and why."""
    found = on_board(options, lambda board: board.jobs.history(job))
    if not found:
        why = f"nothing is known of job {job}; `callboard jobs list --all` shows those there are"
        raise RequestRefused(why, code="not_found")
    show_list(found, ("TIME", "JOB", "TOPIC", "WHAT"), _row, json=json)


def events(
    options: BoardOptions,
    topic: Annotated[str | None, typer.Option(metavar="PATTERN", help="Only of these jobs.")] = None,
    kind: Annotated[list[str] | None, typer.Option(metavar="KIND", help="Such as failed; repeatable.")] = None,
    after: Annotated[str | None, typer.Option(metavar="CURSOR", help="Those after this event; '': all.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Only up to the newest; without --after, all.")] = False,
    json: Json = False,
) -> None:
    """Show what becomes of jobs, as it happens, until Ctrl-C."""
    start = "" if once and after is None else after

    async def work(board: "Callboard") -> None:
        known = list["JobEvent"]()
        if once:
            await demand_topic(board, topic)
        async for event in board.jobs.events(start, topic=topic, kinds=kind or (), follow=not once):
            if json and once:
                known.append(event)
            else:
                show_next(event, " ".join(_row(event)), json=json)
        if json and once:
            show_json(known)

    on_board(options, work, endless=not once)


def _row(event: "JobEvent") -> tuple[str, ...]:
    return _time(event.time_ms), str(event.job), event.topic, event_words(event, _time)


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(" ", "milliseconds")
