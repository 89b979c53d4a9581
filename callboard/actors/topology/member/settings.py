"""The settings of a member agent."""

from dataclasses import dataclass
from typing import Any

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.topology.cluster_state import ClusterSettings, ClusterState

SNAPSHOT_EVERY = 1000
"""Offsets between two snapshots: the next member to start reads few records, and snapshots are a small part of them."""

KEEP_RECORDS = 100_000
"""Offsets kept before the newest snapshot, for the history: a day of a cluster of two, an hour of one of fifty."""


RENEWALS = 3
"""In the part of a lease that a member counts on, at the least: one may be lost, and one late."""


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """The settings of one incarnation of a member.

    ``founding`` are the settings that this member founds the cluster with, if no one has. ``previous`` is the former
    incarnation of this instance, if the host knows it. ``streams`` are the topics that members write to: a view without
    a member is acknowledged only once these are read to where that member's records end. A member counts on its lease
    only until ``margin``, a share, is left of it. Without a sign of life of the service for ``pulse_ms`` it is not
    renewed.
    """

    topic: str
    instance: str
    incarnation: str
    founding: ClusterSettings
    previous: str = ""
    priority: int = 0
    tags: tuple[str, ...] = ()
    properties: Pairs = ()
    streams: tuple[str, ...] = ()
    renew_ms: int = 2000
    margin: float = 0.3
    pulse_ms: int = 5000
    snapshot_every: int = SNAPSHOT_EVERY
    keep_records: int = KEEP_RECORDS

    @property
    def life(self) -> tuple[str, str]:
        """Instance and incarnation."""
        return self.instance, self.incarnation

    def by(self, seq: int = 0) -> dict[str, Any]:
        """The sender of a message. 0 is for a draft, which the renewer numbers."""
        return {"instance": self.instance, "incarnation": self.incarnation, "seq": seq}

    def is_member(self, state: ClusterState) -> bool:
        """Whether this incarnation is a member."""
        member = state.member(self.instance)
        return member is not None and member.incarnation == self.incarnation

    def leads(self, state: ClusterState) -> bool:
        """Whether it is the leader of a settled view."""
        view = state.view
        return self.is_member(state) and view.leader == self.instance and view.settled == view.epoch

    def interval_s(self, state: ClusterState) -> float:
        """The time between renewals: less than ``renew_ms`` if the cluster's leases are too short for that."""
        if state.settings is None:
            return self.renew_ms / 1000
        counted_ms = state.settings.lease_ms * (1 - self.margin)
        return min(self.renew_ms, counted_ms / RENEWALS) / 1000
