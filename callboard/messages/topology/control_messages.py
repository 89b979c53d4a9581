"""The messages of the control topic. ``actors/topology`` has the rules for them."""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import Barrier, ClusterSettings, ClusterState, Health
from callboard.messages.topology.member_event import MemberEvent


class Evidence(IntEnum):
    """Why an eviction is proposed: the members were silent for a lease, or did not acknowledge the view in time."""

    SILENT = 0
    NO_ACK = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinMessage(MemberEvent):
    """Join the cluster, at the end of the order.

    After a restart, ``previous`` is the instance's former incarnation, which leaves in the same view; ``barriers`` are
    for its records. ``read_to`` is the offset up to which the joiner had read the topic. It supports the protocols from
    ``protocol_min`` to ``protocol``. When a leader is needed, the lowest ``priority`` wins.
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
    """Renew the sender's lease, as every message of a member does."""

    read_to: int = -1
    health: Health = Health.GOOD
    load_permille: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesMessage(MemberEvent):
    """Set and unset properties of the sender."""

    set: Pairs = ()
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveMessage(MemberEvent):
    """Leave the cluster. The sender has stopped acting as a member, and its incarnation cannot join again."""

    reason: str = ""
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeMessage(MemberEvent):
    """Evict all of these members or none, on this evidence, if ``base_epoch`` is still the epoch."""

    base_epoch: int
    remove: tuple[str, ...] = ()
    evidence: Evidence = Evidence.SILENT
    reason: str = ""
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessage(MemberEvent):
    """Acknowledge the view: the sender no longer acts by the former one. ``state_hash`` is the digest of the state that
    it computed after the record at ``epoch``.
    """

    epoch: int
    state_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectMessage(MemberEvent):
    """The sender cannot reach the target or, if ``withdrawn``, can reach it again. This is only displayed."""

    target: str
    target_incarnation: str
    withdrawn: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderMessage(MemberEvent):
    """Something that only the leader may write, for the service to read: accepted only while the sender is the leader
    that ``leader_epoch`` says. The payload means nothing to the cluster.
    """

    leader_epoch: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictCommand(Event):
    """Remove the member, even if its lease runs."""

    target: str
    barriers: tuple[Barrier, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainCommand(Event):
    """Exclude the member from leadership until it restarts, or, if not ``draining``, include it again."""

    target: str
    draining: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferCommand(Event):
    """Make the member the leader."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeCommand(Event):
    """Refuse all proposals, so that no member is evicted by others, or, if not ``frozen``, accept them again."""

    frozen: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminMessage(MemberEvent):
    """A command to the cluster, with its author and reason. Exactly one kind of command is set.

    It is carried out only if ``base`` is still ``ClusterState.changed``: never twice, and never after a change that its
    author did not know of. The first ``configure`` founds the cluster; its ``base`` is -1.
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
        """The commands that are set and known to this version; valid messages have one."""
        given = (self.evict, self.drain, self.transfer, self.freeze, self.configure)
        return tuple(command for command in given if command is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMessage(MemberEvent):
    """The state after the previous record, with its digest. A reader can start from it instead of the first record."""

    state: ClusterState
    state_hash: str


CONTROL_MESSAGES: tuple[type[MemberEvent], ...] = (
    JoinMessage, RenewMessage, PropertiesMessage, LeaveMessage, ProposeMessage, AckMessage, SuspectMessage,
    LeaderMessage, AdminMessage, SnapshotMessage,
)  # fmt: skip
"""Every message of the control topic."""
