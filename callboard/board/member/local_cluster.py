"""The local cluster as the log has it now."""

from dataclasses import replace

from callboard.actors.topology.cluster_view import ClusterView, essence, view_of
from callboard.board.member.topology_view import TopologyView
from callboard.messages.topology.cluster_state import EMPTY, ClusterState

Read = tuple[ClusterState, str, tuple[str, str]]
"""A state, the id of its log, and the reader's instance and incarnation."""


class LocalCluster:
    """The view of the local cluster, settled or not; None as long as the reader is not a member.

    It is made again when something has changed. Leases and loads change with every renewal, and a large cluster has
    hundreds in a second, so they are those of now only if that is asked for. Any thread may ask.
    """

    def __init__(self) -> None:
        self.view: ClusterView | None = None
        self._essence: tuple[object, ...] = ()
        self._read: Read = EMPTY, "", ("", "")
        self._fresh: tuple[Read, ClusterView | None] = self._read, None

    def take(self, state: ClusterState, log_id: str, local: tuple[str, str]) -> ClusterView | None:
        """The view of this state; with leases and loads of an earlier one, if nothing else has changed."""
        self._read = state, log_id, local
        if (its := (essence(state), log_id, local)) != self._essence:
            self._essence, self.view = its, self.fresh()
        return self.view

    def fresh(self) -> ClusterView | None:
        """The view with the leases and loads of now."""
        now, (read, view) = self._read, self._fresh
        if read is not now:
            view = view_of(*now)
            view = view if view is not None and view.local is not None else None
            self._fresh = now, view
        return view

    def refreshed(self, topology: TopologyView) -> TopologyView:
        """The topology with the leases and loads of now, unless it is of another view."""
        is_present = topology.local_cluster is self.view
        fresh = self.fresh() if is_present else None
        return topology if fresh is None else replace(topology, local_cluster=fresh)
