"""``callboard topology drain``, ``evict``, ``transfer``, ``freeze`` and ``configure``: commands to the cluster."""

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from callboard.board.topology.commands import ClusterCommandResult
from callboard.board.topology.topology import ClusterCommandOptions, ClusterSettingsChange, Topology
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Yes
from callboard.cli.subscribers.clear import confirm
from callboard.cli.subscribers.command import Author, Reason, Wait
from callboard.cli.terminal.exit_codes import FOUND, USAGE
from callboard.cli.terminal.output import say, show, show_json

if TYPE_CHECKING:
    from callboard.board.board import Callboard

Member = Annotated[str, typer.Argument(metavar="NAME", help="The member's instance id.")]
Undo = Annotated[bool, typer.Option("--undo", help="End it.")]
Ms = Annotated[int | None, typer.Option(metavar="MS", min=1, help="In milliseconds, on the lease clock.")]


def drain(
    options: BoardOptions,
    instance: Member,
    undo: Undo = False,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Exclude a member from leadership until it restarts; with --undo, include it again."""
    said = ClusterCommandOptions(reason=reason, author=author, timeout_s=wait)
    _send(options, lambda cluster: cluster.drain(instance, undo=undo, **said), json=json)


def evict(
    options: BoardOptions,
    instance: Member,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Remove a member, even if its lease runs."""
    said = ClusterCommandOptions(reason=reason, author=author, timeout_s=wait)

    async def work(cluster: Topology) -> ClusterCommandResult:
        left_s = {each.instance: each.lease_left_s for each in (await cluster.view()).members}.get(instance, 0.0)
        if left_s > 0 and not yes:
            confirm(f"the lease of {instance} runs for {left_s:.1f} s more, in which it may act as a member; evict it?")
        return await cluster.evict(instance, **said)

    _send(options, work, json=json)


def transfer(
    options: BoardOptions,
    instance: Member,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Make a member the leader."""
    said = ClusterCommandOptions(reason=reason, author=author, timeout_s=wait)
    _send(options, lambda cluster: cluster.transfer(instance, **said), json=json)


def freeze(
    options: BoardOptions,
    undo: Undo = False,
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Have no member evicted, except by command; with --undo, end that."""
    said = ClusterCommandOptions(reason=reason, author=author, timeout_s=wait)
    _send(options, lambda cluster: cluster.freeze(undo=undo, **said), json=json)


def configure(
    options: BoardOptions,
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
    reason: Reason = "",
    author: Author = "",
    wait: Wait = 30.0,
    json: Json = False,
) -> None:
    """Change settings of the cluster: lease, deadlines, budget of evictions."""
    said = ClusterCommandOptions(reason=reason, author=author, timeout_s=wait)
    given = {
        "lease_ms": lease_ms, "gap_ms": gap_ms, "ack_deadline_ms": ack_deadline_ms, "ack_policy": ack_policy,
        "budget_percent": budget_percent, "budget_min": budget_min,
    }  # fmt: skip
    settings = cast("ClusterSettingsChange", {name: value for name, value in given.items() if value is not None})
    _send(options, lambda cluster: cluster.configure(settings, **said), json=json)


def _send(
    options: BoardOptions, command: Callable[[Topology], Coroutine[Any, Any, ClusterCommandResult]], *, json: bool
) -> None:
    async def work(board: "Callboard") -> ClusterCommandResult:
        return await command(board.topology)

    result = on_board(options, work)
    if json:
        show_json(asdict(result))
    elif result.accepted:
        show(f"done at offset {result.offset}: {result.command}; view {result.epoch}, leader {result.leader or 'none'}")
    if result.accepted is None:
        say(result.detail)
        raise typer.Exit(FOUND)
    if not result.accepted:
        say(f"refused: {result.detail}; look at `callboard topology`, and repeat the command if it is still right")
        raise typer.Exit(USAGE)
