"""``callboard jobs drop-all``, ``retry-all``, ``clear`` and ``stats``: many jobs at once."""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callboard.actors.jobs.topics import matched
from callboard.board.jobs.finding.finding import JobQuery
from callboard.board.jobs.finding.statistics import JobFigures
from callboard.board.jobs.finding.templates import condition_in
from callboard.cli.board import on_board
from callboard.cli.commanding import Author, Reason
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show_json, show_result, show_table
from callboard.door import jobs as door
from callboard.door.names import meant
from callboard.errors import RequestRefused

if TYPE_CHECKING:
    from callboard.board.board import Callboard

OfTopic = Annotated[str | None, typer.Option("--topic", metavar="PATTERN", help="Only of these topics.")]
OfQueue = Annotated[str | None, typer.Option("--queue", metavar="QUEUE", help="Only of this queue.")]
Where = Annotated[
    list[str] | None, typer.Option(metavar="CONDITION", help="On the payload, such as 'size>=3'; repeatable: all hold.")
]


def query(topic: str | None, queue: str | None, where: list[str] | None) -> JobQuery:
    """Which jobs the options mean."""
    found = JobQuery()
    if topic is not None:
        found["topic"] = topic
    if queue is not None:
        found["queue"] = queue
    if where:
        found["where"] = dict(map(condition_in, where))
    return found


async def demand_topic(board: "Callboard", pattern: str | None) -> None:
    """Raise ``RequestRefused`` if there never was a job of such a topic."""
    door.asked(topic=pattern)
    known = [topic for each in await board.jobs.queues() for topic in each.topics]
    if pattern is not None and not any(matched(pattern, topic) for topic in known):
        then = meant(pattern, known, "see `callboard jobs queues`")
        raise RequestRefused(f"no job of a topic {pattern!r} was ever added; {then}", code="not_found")


def drop_all(
    options: BoardOptions, topic: OfTopic = None, queue: OfQueue = None, where: Where = None,
    reason: Reason = "", author: Author = "", json: Json = False,
) -> None:  # fmt: skip
    """End all jobs at once that fit and have not ended; those that run are cancelled."""
    asked = query(topic, queue, where)
    _many(options, "dropped", asked, lambda board: board.jobs.drop_all(reason, author, **asked), json=json)


def retry_all(
    options: BoardOptions, topic: OfTopic = None, queue: OfQueue = None, where: Where = None,
    reason: Reason = "", author: Author = "", json: Json = False,
) -> None:  # fmt: skip
    """Add all jobs once more that fit and were given up or ended with an error, and forget these."""
    asked = query(topic, queue, where)

    async def work(board: "Callboard") -> int:
        return await board.jobs.retry_all(reason=reason, author=author, **asked)

    _many(options, "added again", asked, work, json=json)


def clear(
    options: BoardOptions,
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="Its name.", show_default=False)],
    reason: Reason = "",
    author: Author = "",
    json: Json = False,
) -> None:
    """Remove all jobs of a queue that have not ended, also from the history."""
    _many(options, "removed", {"queue": queue}, lambda board: board.jobs.remove_all(queue, reason, author), json=json)


def _many(
    options: BoardOptions, word: str, asked: JobQuery, work: Callable[["Callboard"], Coroutine[Any, Any, int]], *,
    json: bool,
) -> None:  # fmt: skip
    async def known(board: "Callboard") -> int:
        if not asked:
            raise RequestRefused("say which jobs, with --topic, --queue or --where; --topic '**' means all")
        await demand_topic(board, asked.get("topic"))
        return await work(board)

    many = on_board(options, known)
    show_result({word.replace(" ", "_"): many}, f"{word}: {many}", json=json)


def stats(options: BoardOptions, json: Json = False) -> None:
    """Show what became of all jobs: in all, and by queue, topic and worker."""
    found = on_board(options, lambda board: board.jobs.statistics())
    if json:
        show_json(found)
        return
    names = tuple(asdict(found.total))
    rows = [("all", found.total)]
    for kind, its in (("queue", found.queues), ("topic", found.topics), ("worker", found.workers)):
        rows += [(f"{kind} {name}", figures) for name, figures in its.items()]
    show_table(("", *(f"<{name.upper().replace('_', ' ')}>" for name in names)), (_row(*row) for row in rows))


def _row(name: str, figures: JobFigures) -> Iterable[str]:
    return name, *(f"{value:.0f}" for value in asdict(figures).values())
