"""``callboard queue``: shows what a subscriber, or a cohort, has not processed yet."""

from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.envelope import fields_of
from callboard.board.read.status.cohort import Cohort
from callboard.board.views import CohortQueue, PublisherStatus, QueueView, shortened
from callboard.cli.board import on_board
from callboard.cli.options import After, BoardOptions, Json, Limit, PublisherName
from callboard.cli.terminal.output import show, show_json, show_rest, show_table
from callboard.errors import RequestRefused
from callboard.units import age, count, size

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def queue(
    options: BoardOptions,
    subscriber: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The subscriber, or SITE/SUBSCRIBER.", show_default=False)
    ] = "",
    cohort: Annotated[
        Cohort | None,
        typer.Option(help="The slowest editable subscriber (persisted), or the slowest of all (published)."),
    ] = None,
    publisher: PublisherName = "",
    after: After = "",
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Show the packages that a subscriber, or the slowest of a cohort, has not processed yet, oldest first."""
    if bool(subscriber) == bool(cohort):
        raise RequestRefused("say which queue: NAME, --cohort persisted or --cohort published")

    async def work(board: "Callboard") -> tuple[CohortQueue | None, QueueView]:
        slowest = _cohort_queue(await board.cohorts(publisher), cohort, publisher) if cohort else None
        name, of = (slowest.straggler, slowest.publisher) if slowest else (subscriber, publisher)
        return slowest, await board.queue(name, of, cursor=after, limit=limit)

    slowest, view = on_board(options, work)
    if json:
        show_json(fields_of(view) | {"cohort": slowest} if slowest else view)
        return
    if slowest:
        show(f"{slowest.name}, {slowest.publisher}: the slowest of {slowest.members} is {slowest.straggler}")
    _show(view)


def _cohort_queue(known: tuple[PublisherStatus, ...], cohort: Cohort, publisher: str) -> CohortQueue:
    """The requested queue. Raises ``RequestRefused`` if there are several, or none."""
    found = [each.persisted if cohort is Cohort.PERSISTED else each.published for each in known]
    queues = [each for each in found if each is not None]
    if len(queues) > 1:
        names = " or ".join(each.publisher for each in queues)
        raise RequestRefused(f"several publishers have this queue; say which: --publisher {names}")
    if not queues:
        whom = f"publisher {publisher!r}" if publisher else "any publisher"
        raise RequestRefused(
            f"no subscriber of {whom} counts for the cohort {cohort.value}; see `callboard status`", code="empty"
        )
    return queues[0]


def _show(view: QueueView) -> None:
    if view.state == "idle":
        show(f"the queue of {view.subscriber} is empty")
        _tell(view)
        return
    length = f" ({size(view.length)})" if view.length >= 0 else ""
    oldest = f", the oldest {age(view.oldest_s)} old" if view.oldest_s >= 0 else ""
    many = count(view.size, "package") if view.size >= 0 else "an unknown number of packages"
    show(f"{many}{length}{oldest}, {view.state}")
    columns = ("<OFFSET>", "KIND", "PUBLISHER", "<SIZE>", "AGE", "PATHS")
    show_table(
        columns,
        (
            (
                str(package.offset) if package.offset >= 0 else "",
                package.kind,
                package.publisher,
                size(package.length),
                age(package.age_s),
                package.problem or shortened(package.paths),
            )
            for package in view.items
        ),
    )
    for package in view.items:
        if package.attempts:
            show("", f"package {package.offset}, the head: {count(package.attempts, 'attempt')}; {package.error}")
    show_rest(view)
    _tell(view)


def _tell(view: QueueView) -> None:
    """Why the queue does not move, and the remedy."""
    for trouble in view.troubles:
        show("", trouble.what)
        for remedy in trouble.remedies:
            show(f"  $ {remedy.command}  {remedy.does}")
