"""The cluster on a board's log, as a service or an operator sees it from outside."""

from collections.abc import AsyncGenerator
from typing import TypedDict, Unpack

from callboard.board.context import BoardContext
from callboard.board.page import Page
from callboard.board.topology.changes import ClusterChange
from callboard.board.topology.commands import (
    NO_CLUSTER,
    ClusterCommandResult,
    carry_out,
    demand_cluster,
    demand_member,
)
from callboard.board.topology.explaining import ViewExplanation, explained
from callboard.board.topology.history import history, watch
from callboard.board.topology.opening import current, opened
from callboard.board.topology.reading import oldest_start
from callboard.board.topology.view import ClusterReport, no_cluster, report
from callboard.door.questions import asked, clustered, commanded
from callboard.errors import RequestRefused
from callboard.messages.event import Event, replaced
from callboard.messages.topics import control_topic
from callboard.messages.topology.cluster_state import AckPolicy
from callboard.messages.topology.control_messages import DrainCommand, EvictCommand, FreezeCommand, TransferCommand


class ClusterCommandOptions(TypedDict, total=False):
    """Options of every command to a cluster.

    ``reason`` and ``author`` are for the record; the author is the user of this process if not given. ``timeout_s`` is
    how many seconds to wait for the verdict; the command stands in any case.
    """

    reason: str
    author: str
    timeout_s: float


class ClusterSettingsChange(TypedDict, total=False):
    """Settings of a cluster to change; the others stay. Durations are in milliseconds on the lease clock.

    ``lease_ms``: how long a member may be silent. ``gap_ms``: the most by which the lease clock advances between two
    records, half the lease at most. ``ack_deadline_ms``: how long members have to acknowledge a view, at least a lease.
    ``ack_policy``: what happens to one that does not: evict, wait or proceed. ``budget_percent`` of the other members,
    but always ``budget_min``, may be evicted by others within two leases.
    """

    lease_ms: int
    gap_ms: int
    ack_deadline_ms: int
    ack_policy: str
    budget_percent: int
    budget_min: int


class Topology:
    """The cluster on a board's log, from outside. Created by ``Callboard.topology``.

    Reading writes nothing. A command is a record on the control topic, signed if the board signs; the rules judge it
    there, so it is carried out at most once, and only if nothing changed since the board read the state.
    """

    def __init__(self, board: BoardContext) -> None:
        self._board = board

    async def view(self) -> ClusterReport:
        """The members in their order, the leader, and whether the view is settled."""
        reading, now_ns = await current(self._board), self._board.now_ns()
        if reading is None:
            return no_cluster(control_topic(self._board.settings.prefix), now_ns)
        return report(reading, now_ns)

    async def history(self, *, cursor: str = "", limit: int = 100) -> Page[ClusterChange]:
        """The newest changes, oldest first; the next page is older. Reads the whole topic.

        Args:
            cursor: that of the page before.
            limit: changes on the page, up to 1000.

        Raises:
            RequestRefused: the cursor is not one of this listing and log.
        """
        asked(cursor=cursor, limit=limit)
        return await history(self._board, cursor, limit)

    def watch(self, after: int | None = None) -> AsyncGenerator[ClusterChange, None]:
        """Follow the changes until the board closes: from now on, or those made by records after this offset.

        Raises:
            LogReplaced: the topic was replaced.
        """
        asked(after=after)
        return watch(self._board, after)

    async def explain(self, epoch: int) -> ViewExplanation:
        """Why a view was made, on what evidence, and how it was settled. Reads the topic up to there.

        Raises:
            RequestRefused: no view has this epoch, or its records are no longer on the log.
        """
        asked(epoch=epoch)
        reading = await opened(self._board, oldest_start)
        if reading is None:
            raise RequestRefused(NO_CLUSTER, code="not_found")
        return await explained(reading, epoch)

    async def evict(self, instance: str, **options: Unpack[ClusterCommandOptions]) -> ClusterCommandResult:
        """Remove a member, even if its lease runs: it may believe that it is a member, or leads, until that ends.

        Raises:
            RequestRefused: there is no such member, or no cluster; or the rules refuse the command.
            SchemaTooNew: a record of the cluster is too new for this version.
            LogUnavailable: the command could not be appended.
        """
        await self._demand(instance)
        return await self._send(options, evict=EvictCommand(target=instance))

    async def drain(
        self, instance: str, *, undo: bool = False, **options: Unpack[ClusterCommandOptions]
    ) -> ClusterCommandResult:
        """Exclude a member from leadership until it restarts, or include it again. Raises as ``evict``."""
        asked(undo=undo)
        await self._demand(instance)
        return await self._send(options, drain=DrainCommand(target=instance, draining=not undo))

    async def transfer(self, instance: str, **options: Unpack[ClusterCommandOptions]) -> ClusterCommandResult:
        """Make a member the leader. Raises as ``evict``."""
        await self._demand(instance)
        return await self._send(options, transfer=TransferCommand(target=instance))

    async def freeze(self, *, undo: bool = False, **options: Unpack[ClusterCommandOptions]) -> ClusterCommandResult:
        """Have no member evicted, except by command, or end that. Raises as ``evict``."""
        asked(undo=undo)
        return await self._send(options, freeze=FreezeCommand(frozen=not undo))

    async def configure(
        self, settings: ClusterSettingsChange, **options: Unpack[ClusterCommandOptions]
    ) -> ClusterCommandResult:
        """Change settings of the cluster. Raises as ``evict``; also for impossible settings, and if none changes."""
        taken = clustered(settings)
        former = demand_cluster(await current(self._board)).settings
        assert former is not None, "there is a cluster"
        if "ack_policy" in taken:
            taken["ack_policy"] = AckPolicy[taken["ack_policy"].upper()]
        changed = replaced(former, **taken)
        if changed == former:
            raise RequestRefused("the cluster has these settings already; give at least one to change", code="empty")
        return await self._send(options, configure=changed)

    async def _demand(self, instance: str) -> None:
        asked(instance=instance)
        demand_member(demand_cluster(await current(self._board)), instance)

    async def _send(self, options: ClusterCommandOptions, **command: Event) -> ClusterCommandResult:
        return await carry_out(self._board, command, **commanded(options))
