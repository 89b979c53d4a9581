"""``callboard topology history`` and ``watch``: show the changes of the cluster."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.topology.changes import ClusterChange
from callboard.board.topology.telling import summary
from callboard.cli.board import on_board
from callboard.cli.options import After, BoardOptions, Json, Limit
from callboard.cli.terminal.output import say, show, show_json, show_next, show_rest, show_table
from callboard.units import age, count

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def history(options: BoardOptions, after: After = "", limit: Limit = 20, json: Json = False) -> None:
    """Show the newest changes: who joined, left or was evicted and why, leaders, commands."""
    found = on_board(options, lambda board: board.topology.history(cursor=after, limit=limit))
    if json:
        show_json(found)
        return
    if found.items:
        show_table(("<OFFSET>", "AGE", "<VIEW>", "LEADER", "<MEMBERS>", "CHANGE"), map(_row, found.items))
    else:
        none = "no changes are known" if found.missing else "no changes yet: no member has ever started on this log"
        show(f"{count(found.size, 'change')}, none of them here" if found.size else none)
    show_rest(found)


def watch(
    options: BoardOptions,
    after: Annotated[
        int | None, typer.Option(metavar="OFFSET", min=-1, help="Begin after this one; -1: with the oldest.")
    ] = None,
    json: Json = False,
) -> None:
    """Show changes as they come, until Ctrl-C."""

    async def work(board: "Callboard") -> None:
        found = await board.topology.view()
        say(summary(found))
        if after is not None and 0 <= (end := found.as_of.offset) <= after:
            say(f"offset {after} is beyond the newest record, which is at {end - 1}: waits for what comes after it")
        async for change in board.topology.watch(after):
            line = f"{change.offset} {_ago(change)} {change.what}"
            show_next(change, line, json=json)

    on_board(options, work, endless=True)


def _row(change: ClusterChange) -> tuple[str, ...]:
    view = str(change.epoch) if change.made_view else ""
    return str(change.offset), _ago(change), view, change.leader, str(len(change.members)), change.what


def _ago(change: ClusterChange) -> str:
    return age((time.time_ns() - change.time_ns) / 1e9)
