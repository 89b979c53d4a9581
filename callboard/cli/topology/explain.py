"""``callboard topology explain``: explains a view of the cluster."""

import time
from typing import Annotated

import typer

from callboard.board.topology.telling import explained_lines
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show, show_json, show_table


def explain(
    options: BoardOptions,
    epoch: Annotated[int, typer.Argument(metavar="EPOCH", min=0, help="The view.", show_default=False)],
    json: Json = False,
) -> None:
    """Explain a view: the record that made it, the evidence, who acknowledged it when, and refusals nearby."""
    found = on_board(options, lambda board: board.topology.explain(epoch))
    if json:
        show_json(found)
        return
    show(*explained_lines(found, time.time_ns()))
    if found.refusals:
        show("refused nearby:")
        show_table(("<OFFSET>", "WHAT", "REASON", "WHY"), ((str(each.offset), each.what, each.reason, each.detail)
                                                           for each in found.refusals))  # fmt: skip
