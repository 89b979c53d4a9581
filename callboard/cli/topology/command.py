"""``callboard topology drain``, ``evict``, ``transfer``, ``freeze`` and ``configure``: commands to the cluster."""

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from callboard.board.topology.commands import ClusterCommandResult
from callboard.board.topology.telling import told
from callboard.board.topology.topology import ClusterSettingsChange
from callboard.cli.board import Work
from callboard.cli.commanding import Said, commanding
from callboard.cli.options import Yes
from callboard.cli.subscribers.clear import confirm
from callboard.cli.terminal.exit_codes import FOUND, USAGE
from callboard.cli.terminal.output import say, show, show_json

if TYPE_CHECKING:
    from callboard.board.board import Callboard

Member = Annotated[str, typer.Argument(metavar="NAME", help="The member's instance id.")]
Undo = Annotated[bool, typer.Option("--undo", help="End it.")]
Ms = Annotated[int | None, typer.Option(metavar="MS", min=1, help="In milliseconds, on the lease clock.")]
Sent = Work[ClusterCommandResult]


def report(result: ClusterCommandResult, *, json: bool) -> None:
    """Show what became of a command; the exit code tells it, too."""
    if json:
        show_json(result)
    elif result.accepted:
        show(told(result))
    if not result.accepted:
        say(told(result))
        raise typer.Exit(FOUND if result.accepted is None else USAGE)


@commanding(report)
def drain(said: Said, instance: Member, undo: Undo = False) -> Sent:
    """Exclude a member from leadership until it restarts; with --undo, include it again."""
    return lambda board: board.topology.drain(instance, undo=undo, **said)


@commanding(report)
def evict(said: Said, instance: Member, yes: Yes = False) -> Sent:
    """Remove a member, even if its lease runs."""

    async def work(board: "Callboard") -> ClusterCommandResult:
        members = (await board.topology.view()).members
        left_s = next((each.lease_left_s for each in members if each.instance == instance), 0.0)
        if left_s > 0 and not yes:
            confirm(f"the lease of {instance} runs for {left_s:.1f} s more, in which it may act as a member; evict it?")
        return await board.topology.evict(instance, **said)

    return work


@commanding(report)
def transfer(said: Said, instance: Member) -> Sent:
    """Make a member the leader."""
    return lambda board: board.topology.transfer(instance, **said)


@commanding(report)
def freeze(said: Said, undo: Undo = False) -> Sent:
    """Have no member evicted, except by command; with --undo, end that."""
    return lambda board: board.topology.freeze(undo=undo, **said)


@commanding(report)
def configure(
    said: Said,
    lease_ms: Ms = None,
    gap_ms: Ms = None,
    ack_deadline_ms: Ms = None,
    ack_policy: Annotated[
        Literal["evict", "wait", "proceed"] | None, typer.Option(help="What happens to one that does not acknowledge.")
    ] = None,
    budget_percent: Annotated[
        int | None, typer.Option(min=0, max=100, help="Share of the other members evicted within two leases.")
    ] = None,
    budget_min: Annotated[int | None, typer.Option(min=0, help="Evictions that are always allowed.")] = None,
) -> Sent:
    """Change settings of the cluster: lease, deadlines, budget of evictions."""
    given = {
        "lease_ms": lease_ms, "gap_ms": gap_ms, "ack_deadline_ms": ack_deadline_ms, "ack_policy": ack_policy,
        "budget_percent": budget_percent, "budget_min": budget_min,
    }  # fmt: skip
    settings = cast("ClusterSettingsChange", {name: value for name, value in given.items() if value is not None})
    return lambda board: board.topology.configure(settings, **said)
