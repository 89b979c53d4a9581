"""The state of a cluster: what the records of its control topic come to. A snapshot holds it as it is."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event


class AckPolicy(IntEnum):
    """What becomes of a member that has not acknowledged the view by the deadline."""

    EVICT = 0
    WAIT = 1
    PROCEED = 2


class Health(IntEnum):
    """How a member feels; the others see it, and nothing else follows from it."""

    GOOD = 0
    POOR = 1
    BAD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings(Event):
    """What every reader must know alike, and therefore reads from the log. Durations are on the lease clock.

    ``protocol`` is the version of the rules by which records are judged. ``gap_ms`` is the most that passes on the
    lease clock between two records. Within two leases, at most ``budget_percent`` of the members but one may be evicted
    as silent or without an acknowledgement, and at least ``budget_min``.
    """

    cluster_id: str
    protocol: int = 1
    lease_ms: int = 10_000
    gap_ms: int = 5_000
    ack_policy: AckPolicy = AckPolicy.EVICT
    ack_deadline_ms: int = 10_000
    budget_percent: int = 50
    budget_min: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier(Event):
    """A member acknowledges the view only once it has read this topic up to ``offset``, the end of what a departed
    member wrote there.
    """

    topic: str
    log_id: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember(Event):
    """A member. ``heard_ms`` is when, on the lease clock, its last record was appended, and ``acked`` the last epoch
    that it acknowledged. ``properties_offset`` is the record that last changed its properties.
    """

    instance: str
    incarnation: str
    join_offset: int
    seq: int = 0
    heard_ms: int = 0
    acked: int = -1
    priority: int = 0
    protocol: int = 1
    protocol_min: int = 1
    tags: tuple[str, ...] = ()
    properties: Pairs = ()
    properties_offset: int = -1
    draining: bool = False
    suspected_by: tuple[str, ...] = ()
    read_to: int = -1
    health: Health = Health.GOOD
    load_permille: int = 0

    @property
    def life(self) -> tuple[str, str]:
        """Instance and incarnation: what the two lives of a restarted process differ in."""
        return self.instance, self.incarnation


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed(Event):
    """An incarnation that was a member until the record at ``offset``; it never is one again."""

    instance: str
    incarnation: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogClock(Event):
    """The lease clock, ``now_ms``, after a record. It goes on from the append time ``time_ms``. Records since then that
    were dated before that time, up to ``behind_ms``, have passed for ``stalled_ms``.
    """

    now_ms: int = 0
    time_ms: int = 0
    behind_ms: int = 0
    stalled_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedView(Event):
    """What all readers agree on of members and leader.

    ``epoch`` is the record that last changed them, ``epoch_ms`` its time on the lease clock, and ``state_hash`` the
    digest of the state after it. ``leader_epoch`` is the record that made ``leader`` the leader. ``settled`` is the
    last epoch that all members acknowledged, or, with ``degraded``, that went on without some of them.
    """

    leader: str = ""
    leader_epoch: int = -1
    epoch: int = -1
    epoch_ms: int = 0
    state_hash: str = ""
    settled: int = -1
    degraded: bool = False
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState(Event):
    """The cluster after the record at ``offset``.

    ``members`` are in the order in which they joined. ``evicted_ms`` are the times of evictions that count against the
    budget. ``gone`` are the last incarnations that left; all below ``gone_horizon`` are forgotten. ``snapshot`` is the
    last accepted one, and ``stopped`` a record that this version does not understand, after which it knows nothing; -1
    if there is none.
    """

    offset: int
    clock: LogClock
    view: AgreedView
    settings: ClusterSettings | None = None
    members: tuple[ClusterMember, ...] = ()
    frozen: bool = False
    admin_offset: int = -1
    evicted_ms: tuple[int, ...] = ()
    gone: tuple[Departed, ...] = ()
    gone_horizon: int = -1
    snapshot: int = -1
    stopped: int = -1

    @property
    def changed(self) -> int:
        """The record that last changed the view or was an accepted administrative command."""
        return max(self.view.epoch, self.admin_offset)

    def index_of(self, instance: str) -> int:
        """The member's place in the order, or -1."""
        for index, member in enumerate(self.members):
            if member.instance == instance:
                return index
        return -1

    def member(self, instance: str) -> ClusterMember | None:
        """The member with this instance id."""
        return self.members[index] if (index := self.index_of(instance)) >= 0 else None


EMPTY = ClusterState(offset=-1, clock=LogClock(), view=AgreedView())
"""The state before the first record."""
