"""What differs between two views."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any, TypedDict, Unpack

from callboard.actors.topology.announcements.remote_cluster import RemoteInstance
from callboard.actors.topology.cluster_view import Instance
from callboard.board.member.topology_view import AnyInstance, TopologyView
from callboard.door.members import asked, selection
from callboard.errors import RequestRefused


class Difference(IntEnum):
    """How two views differ: in members, order, leader or epoch; only in what the instances tell; or not."""

    NONE = 0
    PROPERTIES = 1
    TOPOLOGY = 2


def difference(one: TopologyView, other: TopologyView) -> Difference:
    """How the views differ. Health, load and silence do not count: they change with every renewal."""
    if one.local_cluster is other.local_cluster and one.remote == other.remote:  # as after nearly every renewal
        return Difference.NONE
    if _shape(one) != _shape(other):
        return Difference.TOPOLOGY
    return Difference.NONE if _traits(one) == _traits(other) else Difference.PROPERTIES


def _shape(view: TopologyView) -> Any:
    local = view.local_cluster
    clusters = frozenset(
        (each.cluster_id, each.log_id, tuple([(it.instance, it.incarnation, it.is_leader) for it in each.instances]))
        for each in view.clusters
    )
    return local.cluster_id, local.log_id, local.epoch, clusters


def _traits(view: TopologyView) -> Any:
    local = view.local_cluster
    suspected = {it.instance: it.suspected_by for it in local.instances}
    return local.frozen, suspected, {it.instance: (it.properties, it.draining) for it in view.instances}


class Which(TypedDict, total=False):
    """Selects instances: all that is given must hold. ``cluster`` and ``not_cluster`` are cluster ids."""

    is_local: bool
    is_leader: bool
    cluster: str
    not_cluster: str
    where: Callable[[AnyInstance], bool] | None


Side = TopologyView | Iterable[AnyInstance] | None
Found = tuple[AnyInstance, ...]


class InstancesDiff:
    """The instances of an old and a new view, compared by their ids. Each method takes a selection, see ``Which``.

    They raise ``RequestRefused`` for a selection of the wrong type.
    """

    def __init__(self, old: Side, new: Side) -> None:
        self._old, self._new = _by_id(old), _by_id(new)

    def added(self, **which: Unpack[Which]) -> Found:
        """Those only in the new view."""
        return _selected([each for key, each in self._new.items() if key not in self._old], which)

    def removed(self, **which: Unpack[Which]) -> Found:
        """Those only in the old view."""
        return _selected([each for key, each in self._old.items() if key not in self._new], which)

    def retained(self, *, new: bool = True, changed: bool | None = None, **which: Unpack[Which]) -> Found:
        """Those in both, as in the new view or, if not ``new``, in the old one. ``changed`` selects those whose
        properties changed, or did not.
        """
        asked(new=new, changed=changed)
        both = [(self._old[key], each) for key, each in self._new.items() if key in self._old]
        kept = [pair for pair in both if changed is None or (pair[0][1].properties != pair[1][1].properties) is changed]
        return _selected([pair[new] for pair in kept], which)

    def all(self, *, new: bool = True, **which: Unpack[Which]) -> Found:
        """Those in either; one in both as in the new view or, if not ``new``, in the old one."""
        asked(new=new)
        merged = {**self._old, **self._new} if new else {**self._new, **self._old}
        return _selected(merged.values(), which)


def diff(old: Side, new: Side) -> InstancesDiff:
    """Compare the instances of two views, or two collections of instances, by their ids; None is empty.

    Raises ``RequestRefused`` for anything else, and if an id is in one of them twice.
    """
    return InstancesDiff(old, new)


Placed = tuple[str, AnyInstance]
"""An instance and the id of its cluster, which only a view knows."""


def _by_id(side: Side) -> dict[str, Placed]:
    if isinstance(side, TopologyView):
        return {each.instance: (cluster.cluster_id, each) for cluster in side.clusters for each in cluster.instances}
    if not isinstance(side, Iterable | None):
        raise RequestRefused(f"{side!r:.80} is neither a TopologyView nor a collection of instances")
    found: dict[str, Placed] = {}
    for each in side or ():
        if not isinstance(each, Instance | RemoteInstance):
            raise RequestRefused(f"{each!r:.80} is in the collection, but is no instance")
        if each.instance in found:
            raise RequestRefused(f"instance {each.instance} is in the collection twice")
        found[each.instance] = "", each
    return found


def _selected(found: Iterable[Placed], which: Which) -> Found:
    selection(which)

    def fits(cluster: str, each: AnyInstance) -> bool:
        where, is_local = which.get("where"), isinstance(each, Instance) and each.is_local
        return (
            which.get("is_local", is_local) is is_local
            and which.get("is_leader", each.is_leader) is each.is_leader
            and which.get("cluster", cluster) == cluster
            and which.get("not_cluster") != cluster
            and (where is None or where(each))
        )

    return tuple([each for cluster, each in found if fits(cluster, each)])
