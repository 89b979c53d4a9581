"""``callboard reset``: sets the position of a stopped subscriber."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.care.resetting import Reset
from callboard.board.care.resetting import reset as reset_position
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Yes
from callboard.cli.subscribers.clear import confirm
from callboard.cli.terminal.output import show_result

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def reset(
    options: BoardOptions,
    what: Annotated[str, typer.Argument(metavar="NAME|PLACE", help="A configured subscriber, or a repository.")],
    to: Annotated[int | None, typer.Option(metavar="OFFSET", help="Continue at this package.")] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Have a stopped subscriber forget its position, or continue at another package; its content stays."""
    config = options.load().config
    repository = config.for_subscriber(what).into if what in config.subscribers else what

    async def work(board: "Callboard") -> Reset:
        if not yes:
            goes_on = "from where its settings say it starts" if to is None else f"from offset {to}"
            confirm(f"have {what} import {goes_on}, even packages that it already has?")
        return await reset_position(board.log, board.settings.topics.package, repository, Path.cwd(), to)

    done = on_board(options, work)
    goes_on = "where its settings say it starts" if done.next_offset < 0 else f"offset {done.next_offset}"
    line = f"{done.subscriber} was at offset {done.before}, and continues at {goes_on}"
    show_result(done, line, json=json)
