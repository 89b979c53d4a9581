"""What clusters send each other over connectors."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedInstance(Event):
    """A member of an announced cluster. Tags and properties are sorted."""

    instance: str
    incarnation: str
    is_leader: bool = False
    tags: tuple[str, ...] = ()
    properties: Pairs = ()
    draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedCluster(Event):
    """A cluster's view. ``path`` lists the instances that passed it on, from the member that made it to the sender."""

    cluster_id: str
    log_id: str
    epoch: int
    leader_epoch: int
    settled: bool = False
    instances: tuple[AnnouncedInstance, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement(Event):
    """All clusters that the sender knows, its own first. They replace those of its last announcement, and are forgotten
    after ``keep_ms`` without another.
    """

    keep_ms: int = 0
    clusters: tuple[AnnouncedCluster, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope(Event):
    """The body of a request or answer between ``sender`` and ``receiver``.

    ``counter`` grows with each request of a sender, and is the request's in an answer. ``sealed`` is a compressed
    ``Announcement``. With a key, the whole envelope is encrypted, and is ``sealed`` in an outer one, in which only
    ``protocol``, ``key_id`` and ``nonce`` are filled in.
    """

    protocol: int
    key_id: str
    sender: str
    receiver: str
    sent_ms: int
    counter: int
    nonce: bytes
    sealed: bytes
