"""What became of a record of the control topic, and why."""

from enum import StrEnum
from typing import NamedTuple

from callboard.messages.topology.cluster_state import ClusterState


class Reason(StrEnum):
    """Why a record did what it did. All but ``ACCEPTED`` change nothing but the lease clock and the sender's lease."""

    ACCEPTED = "accepted"
    UNCHANGED = "unchanged"
    """It says what is so already."""
    REPLAYED = "replayed"
    """A record at or below this offset was applied before."""
    DUPLICATE = "duplicate"
    """The sender has sent this or a later number before."""
    UNKNOWN_TYPE = "unknown_type"
    UNREADABLE = "unreadable"
    TOO_NEW = "too_new"
    """Of a newer version. The reader knows nothing from here on: it fences itself, and is upgraded."""
    STOPPED = "stopped"
    """A record before this one was too new."""
    NOT_FOUNDED = "not_founded"
    NOT_A_MEMBER = "not_a_member"
    OTHER_INCARNATION = "other_incarnation"
    """The instance is a member, but in another life of its process."""
    DUPLICATE_ID = "duplicate_id"
    """Two processes run under one instance id."""
    GONE = "gone"
    """The incarnation was a member and left; a process that joins again draws a new one."""
    OUTDATED = "outdated"
    """Its writer had not read the topic far enough; read on, and send it again."""
    FULL = "full"
    TOO_LARGE = "too_large"
    INCOMPATIBLE = "incompatible"
    """A member does not speak the cluster's protocol."""
    LEASE_RUNS = "lease_runs"
    """The member was heard within its lease."""
    ACK_NOT_DUE = "ack_not_due"
    OVER_BUDGET = "over_budget"
    FROZEN = "frozen"
    DRAINING = "draining"
    DIVERGED = "diverged"
    """The writer came to another state from the same records. It fences itself; report it, it is a bug."""
    WRONG_CLUSTER = "wrong_cluster"


class Refused(NamedTuple):
    """A rule's answer to a record that changes nothing, with a sentence for people."""

    reason: Reason
    detail: str


class Verdict(NamedTuple):
    """What became of the record at ``offset``; ``epoch`` and ``settled`` are those of the state after it."""

    offset: int
    reason: Reason
    detail: str
    epoch: int
    settled: int

    @property
    def accepted(self) -> bool:
        """Whether it did what it was meant to do."""
        return self.reason is Reason.ACCEPTED


Ruling = ClusterState | Refused
"""What a rule decides: the state after the record, or why it stays as it is."""
