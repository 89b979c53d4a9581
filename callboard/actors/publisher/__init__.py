"""The actors of a publisher agent."""

from dataclasses import dataclass, field

from callboard.actors.agent import ActorSpec
from callboard.actors.publisher import roles
from callboard.actors.publisher.blob_janitor import BlobJanitor, BlobJanitorSettings
from callboard.actors.publisher.command_sender import CommandSender, CommandSenderSettings
from callboard.actors.publisher.distributor import Distributor, DistributorSettings
from callboard.actors.publisher.fleet import Fleet, FleetSettings
from callboard.actors.publisher.head_poller import HeadPoller, HeadPollerSettings
from callboard.actors.publisher.notifier import Notifier, NotifierSettings
from callboard.actors.publisher.queue_cache import MAX_ENTRIES, QueueCache, QueueCacheSettings
from callboard.actors.publisher.status_watcher import StatusWatcher, StatusWatcherSettings
from callboard.actors.publisher.tail_poller import TailPoller, TailPollerSettings
from callboard.actors.publisher.throttle import ThrottleSettings
from callboard.messages.topics import Topics

__all__ = ["PublisherSettings", "actors"]


@dataclass(frozen=True, slots=True)
class PublisherSettings:
    """The settings of a publisher agent.

    ``name`` is the publisher's, and ``instance`` tells this one from others of the same name.
    ``max_entries`` bounds the packages that the queue cache holds, about 27 bytes each. ``throttle`` says whose backlog
    holds requests up, ``events`` which kinds of events are written. Without ``keys`` the log takes a record twice.
    """

    name: str
    instance: str
    topics: Topics
    max_entries: int = MAX_ENTRIES
    blob_grace_s: float = 0.0
    """How long a blob is spared by the janitor; none means that there is no janitor."""
    keys: bool = True
    throttle: ThrottleSettings = field(default_factory=ThrottleSettings)
    events: tuple[str, ...] = ()

    @property
    def producer(self) -> str:
        """How records name who wrote them."""
        return f"{self.name}/{self.instance}"


def actors(settings: PublisherSettings) -> tuple[ActorSpec, ...]:
    """What a publisher agent is made of."""
    topics, producer = settings.topics, settings.producer
    distributor = DistributorSettings(
        topics.package, settings.name, settings.instance, producer, keys=settings.keys, throttle=settings.throttle,
        discovery=topics.discovery,
    )  # fmt: skip
    notifier = NotifierSettings(topics, settings.name, producer, settings.events)
    janitor = BlobJanitorSettings(topics.package, topics.status, settings.blob_grace_s)
    janitors = (ActorSpec(roles.BLOB_JANITOR, BlobJanitor, janitor),) if settings.blob_grace_s else ()
    return (
        *janitors,
        ActorSpec(roles.DISTRIBUTOR, Distributor, distributor),
        ActorSpec(roles.TAIL_POLLER, TailPoller, TailPollerSettings(topics.package)),
        ActorSpec(roles.HEAD_POLLER, HeadPoller, HeadPollerSettings(topics.package)),
        ActorSpec(roles.QUEUE_CACHE, QueueCache, QueueCacheSettings(settings.max_entries)),
        ActorSpec(roles.FLEET, Fleet, FleetSettings(topics.discovery)),
        ActorSpec(roles.STATUS_WATCHER, StatusWatcher, StatusWatcherSettings(topics.status, topics.package)),
        ActorSpec(roles.COMMAND_SENDER, CommandSender, CommandSenderSettings(topics.command, producer, topics.status)),
        ActorSpec(roles.NOTIFIER, Notifier, notifier),
    )
