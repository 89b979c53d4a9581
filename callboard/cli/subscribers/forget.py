"""``callboard forget``: removes a subscriber that never comes back from every view."""

from typing import Annotated

import typer

from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show_result


def forget(
    options: BoardOptions,
    subscriber: Annotated[str, typer.Argument(metavar="NAME", help="The subscriber; it must not be live.")],
    reason: Annotated[str, typer.Option(help="For the record.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also one that is live or unknown.")] = False,
    json: Json = False,
) -> None:
    """Forget a subscriber that never returns: nothing waits for it any more. Its next announcement undoes this."""
    on_board(options, lambda board: board.forget_subscriber(subscriber, reason=reason, force=force))
    line = (
        f"{subscriber} is forgotten, until it announces itself again. For a day a trim still keeps what it "
        "has not processed"
    )
    show_result({"forgotten": subscriber}, line, json=json)
