"""``callboard explain``: explains the state of a path at a subscriber."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.read.explaining import Explanation, Involved
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show, show_json
from callboard.units import age

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def explain(
    options: BoardOptions,
    subscriber: Annotated[
        str, typer.Argument(metavar="NAME", help="The subscriber, or SITE/SUBSCRIBER.", show_default=False)
    ],
    path: Annotated[str, typer.Argument(help="Such as /blog/a.html.", show_default=False)],
    json: Json = False,
) -> None:
    """Show which package brought a path to a subscriber, and what happened to newer ones."""

    async def work(board: "Callboard") -> Explanation:
        return await board.explain(subscriber, path)

    found = on_board(options, work)
    if json:
        show_json(found)
        return
    if found.brought is not None:
        show(_line(found.brought))
    else:
        up_to = f"up to offset {found.offset}" if found.offset >= 0 else f"on this log that {subscriber} has"
        show(f"nothing {up_to} brought {path}, as far back as offset {found.looked_back_to}")
    for package in found.newer:
        show(_line(package))


def _line(package: Involved) -> str:
    ago = age((time.time_ns() - package.time_ns) / 1e9)
    by = f" by {package.user}" if package.user else ""
    what = f"{package.kind or 'record'} of {package.publisher or 'unknown'}{by}"
    where = f"offset {package.offset}" if package.offset >= 0 else "published at the site"
    return f"{where}, {what}, {ago} ago: {package.fate}"
