"""The topology as a service sees it, the changes that its listeners are told, and the form in which Oak tells it."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from callboard.actors.topology.announcements.remote_cluster import RemoteCluster, RemoteInstance
from callboard.actors.topology.cluster_view import ClusterView, Instance, view_of
from callboard.actors.topology.member import MemberSettings
from callboard.board.member.calling import Failures
from callboard.door.boards import plain_function
from callboard.door.rules import checked, instance_of, several
from callboard.errors import RequestRefused
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import EMPTY, ClusterMember, ClusterState
from callboard.messages.topology.connector_limits import CLUSTERS_MAX

AnyInstance = Instance | RemoteInstance


class Validity:
    """Whether the views that share it are current. It ends once."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyView:
    """The instances of all known clusters. It never changes, except that it stops being current, once.

    ``remote`` are the other clusters, as they were announced. Raises ``RequestRefused`` unless, in the local cluster,
    exactly one instance is local, all ids differ, and one instance leads (none before the first agreement).
    """

    local_cluster: ClusterView
    remote: tuple[RemoteCluster, ...] = ()
    validity: Validity = field(default_factory=Validity, compare=False, repr=False)

    def __post_init__(self) -> None:
        cluster = self.local_cluster
        ids = {each.instance for each in cluster.instances}
        local, leaders = sum(it.is_local for it in cluster.instances), sum(it.is_leader for it in cluster.instances)
        if len(ids) != len(cluster.instances) or local != 1 or leaders != (cluster.epoch >= 0):
            what = f"{len(cluster.instances)} instances with {len(ids)} ids; {local} are local and {leaders} lead"
            raise RequestRefused(f"cluster {cluster.cluster_id!r:.80} has {what}")

    @property
    def is_current(self) -> bool:
        """Whether this is still the agreed view. Once False, it stays False."""
        return not self.validity.ended

    @property
    def epoch(self) -> int:
        """The epoch of the local cluster's view; -1 before the first agreement."""
        return self.local_cluster.epoch

    @property
    def local_instance(self) -> Instance:
        """This process's own instance."""
        local = self.local_cluster.local
        assert local is not None, "checked when the view was made"
        return local

    @property
    def leader(self) -> Instance | None:
        """The leader of the local cluster; None if the view is not current: it must not decide who leads."""
        return self.local_cluster.leader if self.is_current else None

    @property
    def clusters(self) -> tuple[ClusterView | RemoteCluster, ...]:
        """All clusters, the local one first. One that has an instance of a cluster before it is left out.

        Two with the same id are the halves of a split cluster.
        """
        taken = {each.instance for each in self.local_cluster.instances}
        apart: list[ClusterView | RemoteCluster] = [self.local_cluster]
        for other in self.remote:
            theirs = {each.instance for each in other.instances}
            if theirs and taken.isdisjoint(theirs):
                apart.append(other)
                taken |= theirs
        return tuple(apart)

    @property
    def instances(self) -> tuple[AnyInstance, ...]:
        """All instances, those of the local cluster first, each cluster in its order."""
        return tuple([each for cluster in self.clusters for each in cluster.instances])

    def find(self, where: Callable[[AnyInstance], bool]) -> tuple[AnyInstance, ...]:
        """The instances for which ``where`` is true. Raises ``RequestRefused`` if it is no function."""
        checked(RequestRefused, {"where": plain_function}, {"where": where})
        return tuple(filter(where, self.instances))


def alone(its: MemberSettings) -> TopologyView:
    """The view before the first agreement: only the own instance, which does not lead."""
    own = ClusterMember(
        instance=its.instance, incarnation=its.incarnation, join_offset=-1, priority=its.priority, tags=its.tags,
        properties=its.properties,
    )  # fmt: skip
    nothing = replaced(EMPTY.view, leader="no one", settled=-2)  # that is no instance id, and the view is not settled
    cluster = view_of(replaced(EMPTY, settings=its.founding, members=(own,), view=nothing), "", its.life)
    assert cluster is not None, "it has a member"
    return TopologyView(local_cluster=cluster)


def last_good(remote: Callable[[], Iterable[RemoteCluster]]) -> Callable[[], tuple[RemoteCluster, ...]]:
    """The service's function, but with its former clusters if it fails or gives anything else."""
    known: tuple[RemoteCluster, ...] = ()
    failures = Failures("remote.failed")

    def get() -> tuple[RemoteCluster, ...]:
        nonlocal known
        try:
            known = several(instance_of(RemoteCluster), CLUSTERS_MAX)(remote())
        except Exception as error:  # noqa: BLE001 - it may fail in any way
            failures.note(error)
        else:
            failures.end()
        return known

    return get


class TopologyEventKind(StrEnum):
    """What happened. A listener is told ``INIT``, then any number of ``PROPERTIES_CHANGED`` and pairs of ``CHANGING``
    and ``CHANGED``; a ``CHANGING`` may be the last.
    """

    INIT = "topology_init"
    """The first event of every listener: the first view that it is given."""
    CHANGING = "topology_changing"
    """The view is no longer current. Stop what relies on it, then return: until the listener has returned, no member of
    the cluster is told the next view.
    """
    CHANGED = "topology_changed"
    """All members agreed on the next view, which may be equal to the old one."""
    PROPERTIES_CHANGED = "properties_changed"
    """The same instances and leader, but other properties, or another status."""


_GIVES = {
    TopologyEventKind.INIT: (False, True),
    TopologyEventKind.CHANGING: (True, False),
    TopologyEventKind.CHANGED: (True, True),
    TopologyEventKind.PROPERTIES_CHANGED: (True, True),
}
"""Whether there is an old view, and a new one."""


@dataclass(frozen=True, slots=True)
class TopologyEvent:
    """A change of the topology. ``old`` is the last view that this listener was given, no longer current; ``new`` is
    the current one. There is no ``old`` at ``INIT``, and no ``new`` at ``CHANGING``. Raises ``RequestRefused``
    otherwise.
    """

    kind: TopologyEventKind
    old: TopologyView | None
    new: TopologyView | None

    def __post_init__(self) -> None:
        given = self.old is not None, self.new is not None
        if given != _GIVES[self.kind]:
            raise RequestRefused(f"{self.kind} has the wrong views: old and new are {given}, not {_GIVES[self.kind]}")
        if (self.old and self.old.is_current) or (self.new and not self.new.is_current):
            raise RequestRefused(f"{self.kind} must replace a view that is no longer current by one that is")


def descriptor(state: ClusterState, its: MemberSettings) -> str:
    """The local cluster in the form of Oak's descriptor; see ``Member.descriptor``."""
    own = state.member(its.instance) if its.is_member(state) else None
    view = state.view
    return json.dumps({
        "seq": view.epoch,
        "final": own is not None and own.acked >= view.epoch,
        "id": (state.settings or its.founding).cluster_id,
        "me": own.join_offset if own else None,
        "active": [member.join_offset for member in state.members],
        "deactivating": [gone.offset for gone in state.gone if gone.offset > view.settled],
        "inactive": [gone.offset for gone in state.gone if gone.offset <= view.settled],
    })  # fmt: skip
