"""``callboard topology``: shows the members of the cluster."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.topology.view import ClusterReport, MemberReport
from callboard.board.topology.wording import named
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND, TOO_NEW
from callboard.cli.terminal.output import show as show_lines
from callboard.cli.terminal.output import show_json, show_table, text
from callboard.units import count

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


def summary(found: ClusterReport) -> str:  # noqa: PLR0911 - one line a condition
    """The cluster in a line."""
    view, members = f"cluster {found.cluster_id}: view {found.epoch}", count(len(found.members), "member")
    waiting = named(found.waiting_for)
    match found.condition:
        case "none":
            return "no cluster yet: no member has ever started on this log"
        case "unknown":
            return f"the cluster is unknown: {found.topic} was trimmed and has no snapshot; restart its members"
        case "empty":
            return f"cluster {found.cluster_id} has no members now; see `callboard topology history`"
        case "unsettled":
            deadline = f"{found.settings['ack_deadline_ms'] / 1e3:.1f} s"
            waits = f"waits for {waiting} since {found.unsettled_s:.1f} s, and the deadline is {deadline}"
            return f"{view}, {members}, is not settled: it {waits}; {found.leader} is to lead"
        case "degraded":
            return f"{view}, {members}, is settled, but without {waiting}; {found.leader} leads"
        case "too_new":
            return f"{view}, {members}: this is older than a record that this version cannot read; upgrade callboard"
    return f"{view}, {members}, is settled; {found.leader} leads"


def _row(number: int, member: MemberReport) -> "tuple[str | Text, ...]":
    states = [
        word
        for word, true in (
            ("leader", member.is_leader),
            ("draining", member.draining),
            ("not acknowledged", not member.acknowledged),
            (f"suspected by {named(member.suspected_by)}", member.suspected_by),
            (f"health {member.health}", member.health != "good"),
        )
        if true
    ]
    left = f"{member.lease_left_s:.1f} s"
    return (
        str(number),
        member.instance,
        ", ".join(states),
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
