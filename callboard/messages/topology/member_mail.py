"""Messages between the actors of a member agent, and the service's questions to them. Never on the log."""

from dataclasses import dataclass
from enum import StrEnum

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.question import Question
from callboard.messages.topology.cluster_state import ClusterState, Health


class MemberProblem(StrEnum):
    """Why a member has no standing, as ``ClusterNews.problem``. All but ``UNAVAILABLE`` and ``FULL`` are final: the
    agent stops acting as a member for good, and only a new incarnation can join.
    """

    UNAVAILABLE = "unavailable"
    """The log cannot be read or written now."""
    FULL = "full"
    LEFT = "left"
    EVICTED = "evicted"
    TAKEN_OVER = "taken_over"
    """Another incarnation of this instance has replaced this one. Do not replace it in turn."""
    DUPLICATE_ID = "duplicate_id"
    """Another process runs under this instance id."""
    INCOMPATIBLE = "incompatible"
    """The cluster uses a protocol that this version does not support."""
    TOO_NEW = "too_new"
    """A newer version wrote a record that this one cannot read."""
    DIVERGED = "diverged"
    """This process computed another state than the others from the same records: a bug."""
    GAP = "gap"
    """Records needed to know the cluster were removed from the log."""
    LOG_REPLACED = "log_replaced"

    @property
    def is_final(self) -> bool:
        """Whether it cannot pass."""
        return self not in (MemberProblem.UNAVAILABLE, MemberProblem.FULL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNews(Event):
    """The cluster as far as the member has read.

    Attributes:
        version: grows with all that the service must know.
        log_id: the identity of the control topic; empty until the topic has been read once to its end. Until then
            ``state`` is empty and means nothing.
        state: after the record at ``read_to``.
        standing_until_ms: until when, on the runtime's monotonic clock, the member may count on its lease; 0 if it may
            not.
        problem: a ``MemberProblem``; empty for none.
        detail: of the problem, for people.
        read_to: the last offset read; -1 for none.
        lag_ms: how long it took until the last own message was read back.
    """

    version: int
    log_id: str = ""
    state: ClusterState
    standing_until_ms: int = 0
    problem: str = ""
    detail: str = ""
    read_to: int = -1
    lag_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCluster(Question[ClusterNews]):
    """Answer as soon as there is a version later than ``after``, at the latest after ``wait_ms``.

    This is also the service's pulse: without it the member neither joins nor renews its lease. ``health`` and
    ``load_permille`` are what the service says of itself.
    """

    after: int = 0
    wait_ms: int = 0
    health: Health = Health.GOOD
    load_permille: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged(Event):
    """The member has acknowledged the view at ``epoch``, or a later one has replaced it."""

    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeView(Question[Acknowledged]):
    """Acknowledge the view at ``epoch``: the service no longer acts by the former one. Answered when read back."""

    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesChanged(Event):
    """The member has these properties, since the record at ``offset``; or not, because of the ``problem``."""

    offset: int = -1
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeProperties(Question[PropertiesChanged]):
    """Set and unset properties of the member. Answered when read back."""

    set: Pairs = ()
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftCluster(Event):
    """The member has left the cluster; ``epoch`` is that of the view without it, -1 if it never joined."""

    epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveCluster(Question[LeftCluster]):
    """Leave the cluster; the service has stopped acting as a member. Answered when read back."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse(Event):
    """The service is alive, and says this of itself."""

    health: Health = Health.GOOD
    load_permille: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent(Event):
    """The member's message ``seq`` is sent at ``at_ms`` on the runtime's monotonic clock. ``joined``: the sender knows
    that this incarnation was a member.
    """

    seq: int
    at_ms: int
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRead(Event):
    """The member has read up to this offset."""

    read_to: int
