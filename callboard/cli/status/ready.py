"""``callboard ready``: reports whether a subscriber may serve, as an exit code for probes."""

from typing import Annotated

import typer

from callboard.board.read import questions
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import show_result


def ready(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(help="The subscriber.", show_default=False)],
    json: Json = False,
) -> None:
    """Check whether a subscriber may serve: exit code 0 if so, 1 if not (yet)."""
    found = on_board(options, lambda board: questions.readiness(board.context, name))
    show_result(found, f"{name} is {'ready' if found.ready else 'not ready'}: {found.reason}", json=json)
    if not found.ready:
        raise typer.Exit(FOUND)
