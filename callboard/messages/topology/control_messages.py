"""The messages of the control topic. What becomes of each is decided at its offset, by ``actors/topology``."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import Barrier, ClusterSettings, ClusterState, Health
from callboard.messages.topology.member_event import MemberEvent


class Evidence(IntEnum):
    """Why a member is proposed for eviction: it was silent for a lease, or did not acknowledge the view in time."""

    SILENT = 0
    NO_ACK = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinMessage(MemberEvent):
    """Join the cluster, last in the order.

    ``previous`` proves a restart: it is the former incarnation of the same instance, which then leaves. ``read_to`` is
    how far the joiner had read the topic. It speaks the protocols from ``protocol_min`` to ``protocol``. Of eligible
    members the one with the lowest ``priority`` leads, once there is no leader. ``barriers`` are for the former
    incarnation.
    """

    previous: str = ""
    read_to: int = -1
    protocol: int = 1
    protocol_min: int = 1
    priority: int = 0
    tags: tuple[str, ...] = ()
    properties: Pairs = ()
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewMessage(MemberEvent):
    """Renew the lease. Every other message of a member renews it too."""

    read_to: int = -1
    health: Health = Health.GOOD
    load_permille: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesMessage(MemberEvent):
    """Set some of the sender's properties and unset others."""

    set: Pairs = ()
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveMessage(MemberEvent):
    """Leave the cluster; this incarnation never returns."""

    reason: str = ""
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeMessage(MemberEvent):
    """Evict members of the view with the epoch ``base_epoch``, on this evidence, all or none."""

    base_epoch: int
    remove: tuple[str, ...] = ()
    evidence: Evidence = Evidence.SILENT
    reason: str = ""
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessage(MemberEvent):
    """Acknowledge the view: the sender has stopped acting by the former one. ``state_hash`` is what it holds to be the
    state after the record ``epoch``.
    """

    epoch: int
    state_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectMessage(MemberEvent):
    """The sender cannot reach a member, or with ``withdrawn`` can again. It is shown, and removes nobody."""

    target: str
    target_incarnation: str
    withdrawn: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictCommand(Event):
    """Remove the member, whatever its lease."""

    target: str
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainCommand(Event):
    """Let the member lead no more while there is another, or, without ``draining``, let it lead again."""

    target: str
    draining: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferCommand(Event):
    """Make the member the leader."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeCommand(Event):
    """Accept no proposals, so that nobody is evicted for silence, or, without ``frozen``, accept them again."""

    frozen: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminMessage(MemberEvent):
    """A command to the cluster, with its author and reason. Exactly one is set.

    It counts only if ``base`` is the cluster's last change, see ``ClusterState.changed``; so no command is carried out
    twice, or against what its author has seen. ``configure`` on an empty topic founds the cluster.
    """

    base: int
    author: str = ""
    reason: str = ""
    evict: EvictCommand | None = None
    drain: DrainCommand | None = None
    transfer: TransferCommand | None = None
    freeze: FreezeCommand | None = None
    configure: ClusterSettings | None = None

    @property
    def commands(self) -> tuple[Event, ...]:
        """The commands that are set and known to this version."""
        given = (self.evict, self.drain, self.transfer, self.freeze, self.configure)
        return tuple(command for command in given if command is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMessage(MemberEvent):
    """The state after the record before this one, and its digest, so that older records need not be read."""

    state: ClusterState
    state_hash: str


CONTROL_MESSAGES: tuple[type[MemberEvent], ...] = (
    JoinMessage, RenewMessage, PropertiesMessage, LeaveMessage, ProposeMessage, AckMessage, SuspectMessage,
    AdminMessage, SnapshotMessage,
)  # fmt: skip
"""Every message of the control topic."""
