"""The topology: the local cluster, and the clusters that are connected to it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from callboard.actors.topology.announcements.remote_cluster import RemoteCluster, RemoteInstance
from callboard.actors.topology.cluster_view import ClusterView, Instance
from callboard.door.boards import function
from callboard.door.rules import checked
from callboard.errors import RequestRefused

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
        checked(RequestRefused, {"where": function}, {"where": where})
        return tuple(filter(where, self.instances))
