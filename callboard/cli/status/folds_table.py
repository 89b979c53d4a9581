"""The folds of a board as a table."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from callboard.board.entities.health.fold_report import FoldReport
from callboard.cli.terminal.output import table, text
from callboard.messages.bounds import clipped
from callboard.units import age

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {
    "reading": "cyan", "live": "green", "building": "cyan", "standby": "dim", "stopped": "bold red", "silent": "yellow",
}  # fmt: skip

TEXT_CHARS_MAX = 200
"""Of what is wrong; ``callboard doctor`` tells more."""


def folds_table(rows: Iterable[FoldReport]) -> "Table":
    """A line for each."""
    columns = ("KIND", "NAME", "ON", "STATE", "<BEHIND>", "<HELD>", "<ACTIVE>", "<SEEN>", "WRONG")
    return table(
        columns,
        (
            (
                each.kind,
                each.name,
                each.instance,
                text(each.state, style=STYLES.get(each.state, "")),
                str(each.behind_all),
                str(each.held or ""),
                str(each.active or ""),
                age(each.seen_s),
                text(clipped(each.wrong, TEXT_CHARS_MAX), style="red" if each.needs else ""),
            )
            for each in rows
        ),
    )
