"""``callboard clear``: has subscribers skip queued packages."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.views import CommandResult
from callboard.cli.board import Work
from callboard.cli.commanding import Said, commanding
from callboard.cli.options import PublisherName, Yes
from callboard.cli.subscribers.command import report
from callboard.errors import RequestRefused
from callboard.messages.headers import SEPARATOR
from callboard.units import count

if TYPE_CHECKING:
    from callboard.board.board import Callboard


@commanding(report)
def clear(
    said: Said,
    subscriber: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The subscriber, or SITE/SUBSCRIBER; it must be editable.")
    ] = "",
    publisher: PublisherName = "",
    first: Annotated[
        int | None, typer.Option(min=1, help="This many from the head (with all: the cohort's), and quarantined ones.")
    ] = None,
    up_to: Annotated[
        int | None, typer.Option(metavar="OFFSET", help="Everything up to this offset, quarantined packages included.")
    ] = None,
    all_editable: Annotated[bool, typer.Option("--all-editable", help="Clear all editable subscribers.")] = False,
    yes: Yes = False,
) -> Work[CommandResult | tuple[CommandResult, ...]]:
    """Have a subscriber remove packages from its queue without importing them: all of them by default."""
    if bool(subscriber) is all_editable:
        raise RequestRefused("name the subscriber whose queue to clear, or use --all-editable")
    if all_editable and up_to is not None:
        raise RequestRefused("--up-to is for one subscriber; with --all-editable use --first N, or neither")

    if first is not None and SEPARATOR in subscriber:
        raise RequestRefused(f"--first counts packages in the queue of {subscriber}, which is at its site; use --up-to")

    async def work(board: "Callboard") -> CommandResult | tuple[CommandResult, ...]:
        if all_editable:
            if not yes:
                which = f"the first {first} packages that the slowest of them" if first else "all packages that it"
                confirm(f"have every editable subscriber skip {which} has queued?")
            return await board.clear_all(publisher, first=first, **said)
        if not yes:
            which = f"the first {first}" if first else f"those up to offset {up_to}" if up_to is not None else "all"
            queued = await _queued(board, subscriber, publisher)
            confirm(f"{queued}; have it skip {which}, and quarantined packages up to there?")
        return await board.clear(subscriber, publisher, first=first, up_to=up_to, **said)

    return work


async def _queued(board: "Callboard", subscriber: str, publisher: str) -> str:
    try:
        view = await board.queue(subscriber, publisher, limit=0)
    except RequestRefused as error:
        if error.code != "at_site":
            raise
        return f"the queue of {subscriber} is not known here"
    more = "" if view.complete or SEPARATOR in subscriber else " or more"
    return f"{subscriber} has {count(view.size, 'package')}{more} queued"


def confirm(question: str) -> None:
    """Ask, and continue only after a yes. Raises ``RequestRefused`` if there is no terminal to ask on."""
    if not sys.stdin.isatty():
        raise RequestRefused(f"{question} There is no terminal to ask on; add --yes", code="unconfirmed")
    typer.confirm(question, abort=True, err=True)
