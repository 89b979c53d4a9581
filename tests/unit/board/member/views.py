"""Views for tests: ``view("a*bc")`` has three instances, of which ``a`` is local and, being the first, leads."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from callboard.actors.topology.announcements.remote_cluster import RemoteCluster, RemoteInstance
from callboard.actors.topology.cluster_view import ClusterView, Instance
from callboard.board.member.topology_view import TopologyView
from callboard.messages.topology.cluster_state import Health

NONE: Mapping[str, Mapping[str, str]] = {}


def instance(name: str, **traits: Any) -> Instance:
    plain: dict[str, Any] = {
        "instance": name, "incarnation": f"{name}1", "is_leader": False, "is_local": False, "join_offset": 1,
        "priority": 0, "tags": frozenset(), "properties": MappingProxyType({}), "draining": False, "suspected_by": (),
        "silent_ms": 0, "health": Health.GOOD, "load_permille": 0,
    }  # fmt: skip
    return Instance(**plain | traits)


def cluster(
    names: str, epoch: int = 1, *, leader: str = "", traits: Mapping[str, Mapping[str, Any]] = NONE, **given: Any
) -> ClusterView:
    order = names.replace("*", "")
    local = names[names.index("*") - 1] if "*" in names else ""
    leader = leader or order[:1]
    return ClusterView(
        instances=tuple(
            instance(name, **{"is_leader": name == leader, "is_local": name == local} | dict(traits.get(name, {})))
            for name in order
        ),
        **{"cluster_id": "c", "log_id": "log", "epoch": epoch, "leader_epoch": 1, "settled": True, "degraded": False,
           "frozen": False} | given,
    )  # fmt: skip


def remote(
    names: str, cluster_id: str = "r", *, leader: str = "", traits: Mapping[str, Mapping[str, Any]] = NONE
) -> RemoteCluster:
    plain: dict[str, Any] = {"tags": frozenset(), "properties": MappingProxyType({}), "draining": False}
    return RemoteCluster(
        cluster_id=cluster_id,
        log_id="other",
        epoch=1,
        leader_epoch=1,
        settled=True,
        instances=tuple(
            RemoteInstance(
                instance=name,
                incarnation=f"{name}1",
                is_leader=name == (leader or names[:1]),
                **plain | dict(traits.get(name, {})),
            )
            for name in names
        ),
        path=(),
    )


def view(names: str = "a*", epoch: int = 1, *others: RemoteCluster, **given: Any) -> TopologyView:
    return TopologyView(local_cluster=cluster(names, epoch, **given), remote=others)


def alone() -> TopologyView:
    """The own instance before the first agreement."""
    return view("a*", -1, leader="nobody", settled=False)
