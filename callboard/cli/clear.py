"""``callboard clear``: have a subscriber pass over what blocks it."""

import sys
from typing import Annotated

import typer

from callboard.app.board import Callboard
from callboard.app.views import Cleared, to_data
from callboard.cli.board import on_board
from callboard.cli.exit_codes import FOUND
from callboard.cli.options import BoardOptions, Json, PublisherName, Yes
from callboard.cli.output import count, say, show, show_json
from callboard.errors import RequestRefused


def clear(
    options: BoardOptions,
    subscriber: Annotated[str, typer.Argument(metavar="NAME", help="The subscriber; it must be editable.")],
    publisher: PublisherName = "",
    first: Annotated[int | None, typer.Option(min=1, help="So many from the head of the queue.")] = None,
    up_to: Annotated[int | None, typer.Option(metavar="OFFSET", help="All up to this offset.")] = None,
    reason: Annotated[str, typer.Option(help="For the record.")] = "",
    wait: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for it to obey.")] = 30.0,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Have a subscriber treat queued packages as done, without importing them: all, unless told how many."""

    async def work(board: Callboard) -> Cleared:
        if not yes:
            view = await board.queue(subscriber, publisher, limit=0)
            which = f"the first {first}" if first else f"those up to offset {up_to}" if up_to is not None else "all"
            confirm(f"{subscriber} has {count(view.size, 'package')} queued; have it skip {which}?")
        return await board.clear(
            subscriber, publisher, first=first, up_to=up_to, reason=reason, timeout_s=wait
        )

    cleared = on_board(options, work)
    if json:
        show_json(to_data(cleared))
    elif cleared.packages >= 0:
        show(f"{subscriber} skipped {count(cleared.packages, 'package')}, up to offset {cleared.up_to}")
    if cleared.packages < 0:
        say(f"{subscriber} has not obeyed within {wait:g} s; the command stands, see `callboard status`")
        raise typer.Exit(FOUND)


def confirm(question: str) -> None:
    """Ask, and go on only after a yes. Raises ``RequestRefused`` where nobody can answer."""
    if not sys.stdin.isatty():
        raise RequestRefused(f"{question} Nobody is here to ask; say --yes")
    typer.confirm(question, abort=True, err=True)
