"""The cluster as a service sees it: immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from callboard.actors.topology.joining import silence_ms
from callboard.backends.fence import Token
from callboard.messages.topology.cluster_state import ClusterMember, ClusterState, Health


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A member of a cluster.

    ``instance`` is an id that survives restarts, ``incarnation`` one of this process. ``is_leader`` holds also in a
    view that is not settled; to act, use ``ClusterView.leader``. ``silent_ms`` is the time since its last record, on
    the lease clock.
    """

    instance: str
    incarnation: str
    is_leader: bool
    is_local: bool
    join_offset: int
    priority: int
    tags: frozenset[str]
    properties: Mapping[str, str] = field(hash=False)
    draining: bool
    suspected_by: tuple[str, ...]
    silent_ms: int
    health: Health
    load_permille: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The members of a cluster, at least one, in the order in which they joined.

    ``epoch`` grows with every change of members or leader. The view is ``settled`` once all members acknowledged it,
    and ``degraded`` if it was settled without some of them.
    """

    cluster_id: str
    log_id: str
    epoch: int
    leader_epoch: int
    instances: tuple[Instance, ...]
    settled: bool
    degraded: bool
    frozen: bool

    @property
    def leader(self) -> Instance | None:
        """The leader; None until the view is settled, because the former leader may still be active."""
        return next((each for each in self.instances if each.is_leader), None) if self.settled else None

    @property
    def local(self) -> Instance | None:
        """The reader's own instance; None if this incarnation is not a member."""
        return next((each for each in self.instances if each.is_local), None)

    @property
    def token(self) -> Token | None:
        """The fencing token of the leader; None until the view is settled."""
        return Token(self.log_id, self.leader_epoch) if self.settled else None


def essence(state: ClusterState) -> tuple[object, ...]:
    """What of the state is shown, except leases and loads, which change with every renewal."""
    members = [  # a flat list, because a tuple of each member would keep the garbage collector busy
        trait
        for it in state.members
        for trait in (it.instance, it.incarnation, it.properties_offset, it.draining, it.suspected_by, it.health)
    ]
    return state.view, state.settings, state.frozen, state.stopped, *members


def view_of(state: ClusterState, log_id: str, local: tuple[str, str] = ("", "")) -> ClusterView | None:
    """The view in this state of the log ``log_id``; None without members, and after a record that is too new.

    ``local`` is the reader's instance and incarnation.
    """
    if not state.members or state.settings is None or state.stopped >= 0:
        return None
    return ClusterView(
        cluster_id=state.settings.cluster_id,
        log_id=log_id,
        epoch=state.view.epoch,
        leader_epoch=state.view.leader_epoch,
        instances=tuple([_instance(state, member, local) for member in state.members]),
        settled=state.view.settled == state.view.epoch,
        degraded=state.view.degraded,
        frozen=state.frozen,
    )


def _instance(state: ClusterState, member: ClusterMember, local: tuple[str, str]) -> Instance:
    return Instance(
        instance=member.instance,
        incarnation=member.incarnation,
        is_leader=member.instance == state.view.leader,
        is_local=member.life == local,
        join_offset=member.join_offset,
        priority=member.priority,
        tags=frozenset(member.tags),
        properties=MappingProxyType(dict(member.properties)),
        draining=member.draining,
        suspected_by=member.suspected_by,
        silent_ms=max(0, silence_ms(state, member)),
        health=member.health,
        load_permille=member.load_permille,
    )
