"""``callboard topology explain``: explains a view of the cluster."""

import time
from collections.abc import Iterator
from typing import Annotated

import typer

from callboard.board.topology.explaining import ViewExplanation
from callboard.board.topology.wording import named
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show, show_json, show_table
from callboard.units import age


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
    show(*_lines(found))
    if found.refusals:
        show("refused nearby:")
        show_table(("<OFFSET>", "WHAT", "REASON", "WHY"), ((str(each.offset), each.what, each.reason, each.detail)
                                                           for each in found.refusals))  # fmt: skip


def _lines(found: ViewExplanation) -> Iterator[str]:
    change = found.change
    ago = age((time.time_ns() - change.time_ns) / 1e9)
    yield f"view {change.epoch} was made {ago} ago, by the {found.record} of {change.by}: {change.what}"
    yield f"members: {named(change.members) or 'none'}; leader: {change.leader or 'none'}; view before: " + (
        str(found.previous_epoch) if found.previous_epoch >= 0 else "none"
    )
    for each in found.departures:
        last = "is no longer on the log"
        if each.last is not None:
            before = (change.time_ns - each.last.time_ns) / 1e9
            last = f"was the {each.last.type} at offset {each.last.offset}, {age(before)} before"
        yield f"evidence: {each.why}; its last record {last}"
    for ack in found.acknowledgements:
        yield f"acknowledged by {ack.instance} after {ack.after_s:.1f} s, at offset {ack.offset}"
    missing, took = named(found.waiting_for), f"after {found.barrier_s:.1f} s"
    match found.outcome:
        case "settled":
            yield f"settled {took}"
        case "degraded":
            yield f"counts as settled {took}, without {missing}"
        case "superseded":
            yield f"superseded by view {found.next_epoch} {took}" + (
                f", before {missing} acknowledged it" * bool(missing)
            )
        case "waiting":
            yield f"not settled yet: it waits for {missing}" if change.members else "no member is left to settle it"
