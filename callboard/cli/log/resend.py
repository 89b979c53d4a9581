"""``callboard log resend``: sends a package again."""

from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.views import Package
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.publishing.requesting import Expect
from callboard.cli.terminal.output import show_result
from callboard.units import count

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def resend(
    options: BoardOptions,
    offset: Annotated[int, typer.Argument(help="The package.", show_default=False)],
    to: Annotated[list[str] | None, typer.Option("--to", metavar="NAME", help="To this one only; repeatable.")] = None,
    expect: Expect = False,
    force: Annotated[bool, typer.Option("--force", help="Even if newer packages touch the same paths.")] = False,
    request_id: Annotated[str, typer.Option(metavar="ID", help="Repeats with the same id send once.")] = "",
    json: Json = False,
) -> None:
    """Send a package again, as a new one with the same content, to all subscribers or only some."""

    async def work(board: "Callboard") -> Package:
        return await board.resend(offset, to=tuple(to or ()), expect=expect, force=force, request_id=request_id)

    package = on_board(options, work)
    content = f", {count(package.entries, 'entry')}" if package.entries else ""
    show_result(package, f"{package.kind} {package.id} is at offset {package.offset}{content}", json=json)
