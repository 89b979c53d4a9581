"""``callboard schedules set``, ``run``, ``suspend``, ``resume`` and ``remove``: commands about schedules."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.jobs.schedules.scheduling import no_schedule
from callboard.board.jobs.wording import on_clocks, rule_words
from callboard.cli.board import on_board
from callboard.cli.commanding import Author, Reason
from callboard.cli.jobs.add import payload_value
from callboard.cli.jobs.options import Lane, Payload, Priority, Retries, Timeout, Title, Topic, Unique, UniqueFor
from callboard.cli.jobs.shown import job_line
from callboard.cli.options import BoardOptions, Json
from callboard.cli.schedules.listing import ScheduleName
from callboard.cli.terminal.output import show_result
from callboard.errors import RequestRefused

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def set_schedule(
    options: BoardOptions,
    name: ScheduleName,
    topic: Topic,
    payload: Payload = None,
    cron: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPRESSION", help="Minute, hour, day, month, weekday: '30 3 * * MON-FRI'; repeatable."),
    ] = None,
    every: Annotated[float | None, typer.Option(metavar="SECONDS", min=1, help="Or seconds between ticks.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Or the only tick: 2026-11-27T08:00.")] = None,
    zone: Annotated[str, typer.Option(help="Time zone of --cron and --at, such as Europe/Berlin.")] = "UTC",
    catch_up: Annotated[
        str, typer.Option(metavar="HOW", help="Missed ticks to make up for: skip, last, or how many.")
    ] = "last",
    suspended: Annotated[bool, typer.Option("--suspended", help="Add no jobs until it is resumed.")] = False,
    priority: Priority = 0,
    lane: Lane = "",
    unique: Unique = "",
    unique_for: UniqueFor = 0.0,
    retries: Retries = None,
    timeout: Timeout = 0,
    title: Title = "",
    author: Author = "",
    json: Json = False,
) -> None:
    """Add a schedule, or replace the one of this name."""
    value, only = payload_value(payload), _time(at)
    its = on_board(options, lambda board: board.jobs.schedule(
        name, topic, value, cron=cron or (), every_s=every, at=only, zone=zone,
        catch_up=int(catch_up) if catch_up.isdecimal() else catch_up, suspended=suspended, author=author,
        priority=priority, lane=lane, unique=unique, unique_s=unique_for, retries=retries, timeout_s=timeout,
        title=title,
    ))  # fmt: skip
    then = "suspended" if its.suspended else f"next at {on_clocks(its.next_ms, its.zone)}" if its.next_ms else "had it"
    show_result(its, f"schedule {name}, {rule_words(its)}: {then}", json=json)


def _time(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise RequestRefused(f"--at is {text!r}, which is no time; write it as 2026-11-27T08:00") from None


def run(options: BoardOptions, name: ScheduleName, json: Json = False) -> None:
    """Add a job of a schedule now; its ticks stay as they are."""
    job = on_board(options, lambda board: board.jobs.run_schedule(name))
    show_result(job, job_line(job), json=json)


def suspend(
    options: BoardOptions, name: ScheduleName, reason: Reason = "", author: Author = "", json: Json = False
) -> None:
    """Have a schedule add no jobs until it is resumed."""
    _change(options, "suspended", name, reason, author, json=json)


def resume(
    options: BoardOptions, name: ScheduleName, reason: Reason = "", author: Author = "", json: Json = False
) -> None:
    """Have a schedule add jobs again, for ticks from now on."""
    _change(options, "resumed", name, reason, author, json=json)


def remove(
    options: BoardOptions, name: ScheduleName, reason: Reason = "", author: Author = "", json: Json = False
) -> None:
    """Remove a schedule; jobs that it has added stay."""
    _change(options, "removed", name, reason, author, json=json)


def _change(options: BoardOptions, done: str, name: str, reason: str, author: str, *, json: bool) -> None:
    async def work(board: "Callboard") -> None:
        jobs = board.jobs
        changes = {"suspended": jobs.suspend_schedule, "resumed": jobs.resume_schedule, "removed": jobs.unschedule}
        if not await changes[done](name, reason, author):
            raise no_schedule(name, [each.name for each in await jobs.schedules()])

    on_board(options, work)
    show_result({"schedule": name, "done": done}, f"{name} is {done}", json=json)
