"""``callboard topology``: shows the members of the cluster."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.topology.telling import member_words, summary
from callboard.board.topology.view import ClusterReport, MemberReport
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND, TOO_NEW
from callboard.cli.terminal.output import show as show_lines
from callboard.cli.terminal.output import show_json, show_table, text

if TYPE_CHECKING:
    from rich.text import Text

CODES = {"too_new": TOO_NEW, "unknown": FOUND}
"""Exit codes of conditions in which the members are not known."""

Details = Annotated[bool, typer.Option("--details", help="Include incarnations, health and properties.")]


def show(options: BoardOptions, details: Details = False, json: Json = False) -> None:
    """Show the members in their order, the leader, and whether the view is settled; runs without a name."""
    found = on_board(options, lambda board: board.topology.view())
    if json:
        show_json(found)
    else:
        show_lines(summary(found))
        if found.members:
            columns = ("<#>", "MEMBER", "STATE", "<LEASE LEFT>", "<LAG>", "TAGS")
            show_table(columns, (_row(number, each) for number, each in enumerate(found.members, 1)))
        for line in (*(_details(found) if details else ()), *(f"note: {note}" for note in found.notes)):
            show_lines(line)
    if found.condition in CODES:
        raise typer.Exit(CODES[found.condition])


def _row(number: int, member: MemberReport) -> "tuple[str | Text, ...]":
    left = f"{member.lease_left_s:.1f} s"
    return (
        str(number),
        member.instance,
        ", ".join(member_words(member)),
        text(left, style="red") if member.lease_left_s <= 0 else left,
        f"{member.lag_s:.1f} s" if member.lag_s >= 0 else "",
        " ".join(member.tags),
    )


def _details(found: ClusterReport) -> Iterator[str]:
    for each in found.members:
        joined = f"incarnation {each.incarnation}, joined at offset {each.join_offset}, priority {each.priority}"
        yield f"{each.instance}: {joined}, health {each.health}, load {each.load_permille / 10:.1f} %"
        yield from (f"  {name} = {value}" for name, value in each.properties.items())
    yield from (f"setting {name} = {value}" for name, value in found.settings.items())
