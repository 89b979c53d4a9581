"""``callboard publisher-log``: shows what subscribers reported about a publisher's packages."""

import time
from typing import Annotated

import typer

from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Limit
from callboard.cli.terminal.output import show, show_json, show_table
from callboard.units import age


def publisher_log(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Default: publisher.name.", show_default=False)] = "",
    details: Annotated[bool, typer.Option("--details", help="Include stack traces.")] = False,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """Show a publisher's log: the newest errors that subscribers reported, and what all of them have."""
    publisher = name or options.load().config.publisher.name
    lines = on_board(options, lambda board: board.publisher(publisher).log(limit))
    if json:
        show_json(lines)
    elif not lines:
        show(f"nothing was reported about packages of {publisher!r}")
    elif details:
        for line in lines:
            show(f"{_age(line.time_ns)} {line.level} {line.subscriber} {line.message}")
            if line.details:
                show(*(f"  | {each}" for each in line.details.rstrip().split("\n")))
    else:
        rows = ((_age(line.time_ns), line.level, line.subscriber, line.message) for line in lines)
        show_table(("AGE", "LEVEL", "SUBSCRIBER", "MESSAGE"), rows)


def _age(time_ns: int) -> str:
    return age((time.time_ns() - time_ns) / 1e9)
