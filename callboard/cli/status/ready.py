"""``callboard ready``: reports whether a subscriber may serve, as an exit code for probes."""

from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.read.status.status import member
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import show_result
from callboard.messages.distribution.fleet_mail import Liveness, Member

if TYPE_CHECKING:
    from callboard.board.board import Callboard

ANSWER_S = 30.0


def ready(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(help="The subscriber.", show_default=False)],
    json: Json = False,
) -> None:
    """Check whether a subscriber may serve: exit code 0 if so, 1 if not (yet)."""

    async def look(board: "Callboard") -> Member:
        return await member(await board.context.viewer(), name, "", ANSWER_S)

    found = on_board(options, look)
    said, live = found.announcement, found.liveness is Liveness.LIVE
    may = said.ready and live
    reason = said.ready_reason if live else f"it is {found.liveness.name.lower()}"
    line = f"{name} is {'ready' if may else 'not ready'}: {reason}"
    show_result({"subscriber": name, "ready": may, "reason": reason}, line, json=json)
    if not may:
        raise typer.Exit(FOUND)
