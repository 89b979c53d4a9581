"""``callboard jobs stop``, ``drop``, ``retry``, ``suspend``, ``resume`` and ``configure``: commands about jobs."""

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from callboard.board.jobs.queues import QueueSettings
from callboard.cli.board import on_board
from callboard.cli.commanding import Author, Reason
from callboard.cli.jobs.listing import JobId
from callboard.cli.jobs.shown import job_line
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show_result
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.board.board import Callboard

JobIds = Annotated[list[int], typer.Argument(metavar="ID...", min=0, help="The jobs.", show_default=False)]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="Its name.", show_default=False)]


def stop(options: BoardOptions, jobs: JobIds, reason: Reason = "", author: Author = "", json: Json = False) -> None:
    """Stop jobs: those that wait end, those that run are told to."""
    done = on_board(options, lambda board: board.jobs.stop(*jobs, reason=reason, author=author))
    _report("stopped", jobs, done, json=json)


def drop(options: BoardOptions, jobs: JobIds, reason: Reason = "", author: Author = "", json: Json = False) -> None:
    """End jobs at once: those that run are cancelled, and their results ignored."""
    done = on_board(options, lambda board: board.jobs.drop(*jobs, reason=reason, author=author))
    _report("dropped", jobs, done, json=json)


def _report(word: str, jobs: list[int], done: tuple[int, ...], *, json: bool) -> None:
    ended = [job for job in jobs if job not in done]
    lines = [f"{word}: {' '.join(map(str, done))}"] if done else []
    show_result({word: done, "ended_or_unknown": ended}, *lines, json=json)
    if ended:
        say(f"ended before, or unknown: {' '.join(map(str, ended))}")
        raise typer.Exit(FOUND)


def retry(options: BoardOptions, job: JobId, json: Json = False) -> None:
    """Add a job that has ended once more, under a new id."""
    again = on_board(options, lambda board: board.jobs.retry(job))
    show_result(again, f"{job_line(again)}; it repeats job {job}", json=json)


def suspend(
    options: BoardOptions, queue: QueueName, reason: Reason = "", author: Author = "", json: Json = False
) -> None:
    """Start no more jobs of a queue; those that run go on."""
    on_board(options, lambda board: board.jobs.suspend(queue, reason, author))
    show_result({"queue": queue, "suspended": True}, f"{queue} is suspended", json=json)


def resume(
    options: BoardOptions, queue: QueueName, reason: Reason = "", author: Author = "", json: Json = False
) -> None:
    """Start jobs of a suspended queue again."""
    on_board(options, lambda board: board.jobs.resume(queue, reason, author))
    show_result({"queue": queue, "suspended": False}, f"{queue} is resumed", json=json)


def configure(
    options: BoardOptions,
    queue: QueueName,
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC...", help="Topics, or patterns.", show_default=False)
    ] = None,
    order: Annotated[
        Literal["unordered", "ordered", "topic_round_robin"] | None, typer.Option(help="In which jobs are started.")
    ] = None,
    parallel: Annotated[int | None, typer.Option(min=0, help="Jobs at a time on each worker; 0: no limit.")] = None,
    cluster_parallel: Annotated[int | None, typer.Option(min=0, help="Jobs at a time in all; 0: no limit.")] = None,
    retries: Annotated[int | None, typer.Option(min=-1, help="Of a job that failed; -1: no limit.")] = None,
    delay: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Before the first retry.")] = None,
    delay_max: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Before any retry.")] = None,
    growth: Annotated[
        float | None, typer.Option(min=1, max=100, help="How many times as long the delay is for each next retry.")
    ] = None,
    retry_exceptions: Annotated[bool | None, typer.Option(help="Try a job again that raises an error.")] = None,
    crashes: Annotated[int | None, typer.Option(min=1, max=200, help="Of workers with a job, until it ends.")] = None,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="For an attempt; 0: none.")] = None,
    quiet: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Without progress; 0: none.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="That a worker needs; repeat it.")] = None,
    prefer_creator: Annotated[bool, typer.Option("--prefer-creator", help="Run on the host that added it.")] = False,
    rate: Annotated[int | None, typer.Option(min=0, help="Starts in any period, on all workers; 0: no limit.")] = None,
    period: Annotated[float | None, typer.Option(metavar="SECONDS", help="For --rate. Default: 1.")] = None,
    keep: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Keep those that succeeded.")] = None,
    keep_failed: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Keep other ended ones.")] = None,
    ranking: Annotated[int | None, typer.Option(help="Of queues that match a topic, the highest has it.")] = None,
    compat: Annotated[bool, typer.Option("--compat", help="By default as Apache Sling's queues.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove its settings.")] = False,
    json: Json = False,
) -> None:
    """Add a queue, or replace all settings of the one with this name."""
    if remove == bool(topics):
        raise ConfigError("name the topics of the queue, or --remove it")
    given = {
        "order": order, "parallel": parallel, "cluster_parallel": cluster_parallel, "retries": retries,
        "delay_s": delay, "delay_max_s": delay_max, "growth": growth, "retry_exceptions": retry_exceptions,
        "crashes": crashes, "timeout_s": timeout, "quiet_s": quiet, "tags": tag, "keep_s": keep,
        "prefer_creator": prefer_creator or None, "keep_failed_s": keep_failed, "ranking": ranking, "rate": rate,
        "rate_s": period,
    }  # fmt: skip
    settings = cast("QueueSettings", {name: value for name, value in given.items() if value is not None})

    async def work(board: "Callboard") -> None:
        if remove:
            await board.jobs.remove_queue(queue)
        else:
            await board.jobs.configure(queue, topics or (), compat=compat, **settings)

    on_board(options, work)
    made = {"queue": queue, "removed": remove, "topics": topics or [], **settings}
    show_result(made, f"{queue} is {'removed' if remove else 'configured'}", json=json)
