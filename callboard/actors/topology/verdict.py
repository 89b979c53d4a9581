"""Verdicts: what a record of the control topic did, or why it did nothing."""

from enum import StrEnum
from typing import NamedTuple

from callboard.messages.topology.cluster_state import ClusterState


class Reason(StrEnum):
    """The code of a verdict. All but ``ACCEPTED`` change only the lease clock and the lease of a sender that is a
    member.
    """

    ACCEPTED = "accepted"
    UNCHANGED = "unchanged"
    """The state is already as the record asks."""
    REPLAYED = "replayed"
    """The record, or a later one, was applied before."""
    DUPLICATE = "duplicate"
    """The sender's sequence number was seen before."""
    UNKNOWN_TYPE = "unknown_type"
    UNREADABLE = "unreadable"
    TOO_NEW = "too_new"
    """Written by a newer major version. The reader cannot know the state from here on and must fence itself."""
    STOPPED = "stopped"
    """An earlier record was too new."""
    NOT_FOUNDED = "not_founded"
    NOT_A_MEMBER = "not_a_member"
    OTHER_INCARNATION = "other_incarnation"
    """The instance is a member in another incarnation."""
    DUPLICATE_ID = "duplicate_id"
    """Two processes run under one instance id."""
    GONE = "gone"
    """The incarnation was a member and left; join with a new one."""
    OUTDATED = "outdated"
    """Something changed that the sender had not read; read on and send again."""
    FULL = "full"
    TOO_LARGE = "too_large"
    INCOMPATIBLE = "incompatible"
    """An instance does not support the cluster's protocol."""
    LEASE_RUNS = "lease_runs"
    """The target renewed its lease in time."""
    ACK_NOT_DUE = "ack_not_due"
    OVER_BUDGET = "over_budget"
    NOT_LEADING = "not_leading"
    """Another member leads, or leads since another epoch."""
    FROZEN = "frozen"
    DRAINING = "draining"
    DIVERGED = "diverged"
    """The sender computed a different state from the same records, which is a bug. It must fence itself."""
    WRONG_CLUSTER = "wrong_cluster"


class Refused(NamedTuple):
    """A rule's answer to a record that it does not accept; ``detail`` is for people."""

    reason: Reason
    detail: str


class Verdict(NamedTuple):
    """The verdict on the record at ``offset``. ``epoch`` and ``settled`` are of the state after it."""

    offset: int
    reason: Reason
    detail: str
    epoch: int
    settled: int

    @property
    def accepted(self) -> bool:
        """Whether the record took effect."""
        return self.reason is Reason.ACCEPTED


Ruling = ClusterState | Refused
"""A rule's decision: the state after the record, or the refusal."""
