"""Another cluster, as it announced itself: immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteInstance:
    """A member of another cluster. ``is_leader`` holds also in a view that is not settled."""

    instance: str
    incarnation: str
    is_leader: bool
    tags: frozenset[str]
    properties: Mapping[str, str] = field(hash=False)
    draining: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCluster:
    """Another cluster, with at least one member, in the order in which they joined.

    ``epoch`` and ``leader_epoch`` are offsets in the cluster's own log, ``log_id``: compare them only with those of the
    same log. ``path`` lists the instances that passed the announcement on, from the member that made it to the one
    that this process heard it from.
    """

    cluster_id: str
    log_id: str
    epoch: int
    leader_epoch: int
    settled: bool
    instances: tuple[RemoteInstance, ...]
    path: tuple[str, ...]

    @property
    def leader(self) -> RemoteInstance | None:
        """The leader; None until the view is settled, because the former leader may still be active."""
        return next((each for each in self.instances if each.is_leader), None) if self.settled else None
