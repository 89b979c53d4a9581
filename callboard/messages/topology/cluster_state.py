"""The state of a cluster, as computed from the records of its control topic and stored in snapshots."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event


class AckPolicy(IntEnum):
    """What happens to a member that has not acknowledged the view by the deadline."""

    EVICT = 0
    WAIT = 1
    PROCEED = 2


class Health(IntEnum):
    """A member's health by its own judgement. It is only displayed."""

    GOOD = 0
    POOR = 1
    BAD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings(Event):
    """The settings that all readers must share, so they are on the log. Durations are on the lease clock.

    ``protocol`` is the version of the rules. ``gap_ms`` is the most that the lease clock advances between two records.
    The budget limits evictions by proposal: within two leases, ``budget_percent`` of the other members, but always
    ``budget_min``.
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
    """A member acknowledges the view only after it has read this topic up to ``offset``, the end of a departed member's
    records.
    """

    topic: str
    log_id: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember(Event):
    """A member. ``heard_ms`` is when its last record was appended, on the lease clock; ``acked`` is the last epoch that
    it acknowledged; ``properties_offset`` is the record that last changed its properties.
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
        """Instance and incarnation, which together identify one run of a process."""
        return self.instance, self.incarnation


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed(Event):
    """An incarnation that was a member until the record at ``offset`` and can never join again."""

    instance: str
    incarnation: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogClock(Event):
    """The lease clock after a record: ``now_ms``. ``time_ms`` is the append time that it last advanced to. Records
    since then with earlier times have reached ``behind_ms`` and cover ``stalled_ms``.
    """

    now_ms: int = 0
    time_ms: int = 0
    behind_ms: int = 0
    stalled_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedView(Event):
    """The agreed view of members and leader.

    ``epoch`` is the offset of the record that last changed them, ``epoch_ms`` its time on the lease clock, and
    ``state_hash`` the digest of the state after it. ``leader_epoch`` is the offset of the record that made ``leader``
    the leader. ``settled`` is the last epoch that all members acknowledged, or, if ``degraded``, that was settled
    without some of them.
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

    ``members`` are in the order in which they joined. ``evicted_ms`` are the times of evictions that may count
    against the budget. ``gone`` are the last incarnations that left; those up to ``gone_horizon`` are forgotten.
    ``snapshot`` is the offset of the last accepted snapshot. ``stopped`` is the offset of a record that is too new for
    this version, after which the state is unknown. Both are -1 for none. Until ``granted_ms``, on the lease clock,
    members that have not read the present settings may count on the longer lease of former ones.
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
    granted_ms: int = 0

    def __hash__(self) -> int:  # nearly always enough, and without looking at each member
        return hash((self.offset, self.view.state_hash))

    @property
    def changed(self) -> int:
        """The offset of the last change of the view, or of the last accepted command if that is later."""
        return max(self.view.epoch, self.admin_offset)

    def index_of(self, instance: str) -> int:
        """The member's place in the order, or -1."""
        for index, member in enumerate(self.members):
            if member.instance == instance:
                return index
        return -1

    def member(self, instance: str) -> ClusterMember | None:
        """The member with this instance id, or None."""
        return self.members[index] if (index := self.index_of(instance)) >= 0 else None


EMPTY = ClusterState(offset=-1, clock=LogClock(), view=AgreedView())
"""The state before the first record."""
