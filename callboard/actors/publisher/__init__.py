"""The actors of a publisher agent."""

from callboard.actors.core.agent import ActorSpec
from callboard.actors.publisher import roles
from callboard.actors.publisher.settings import PublisherSettings

__all__ = ["PublisherSettings", "actors"]


def actors(settings: PublisherSettings) -> tuple[ActorSpec, ...]:
    """The actors of a publisher agent. Imported lazily: most importers of this package want only a name."""
    from callboard.actors.publisher.command_sender import CommandSender, CommandSenderSettings
    from callboard.actors.publisher.errors.status_watcher import StatusWatcher, StatusWatcherSettings
    from callboard.actors.publisher.events.notifier import Notifier, NotifierSettings
    from callboard.actors.publisher.fleet.fleet import Fleet, FleetSettings
    from callboard.actors.publisher.intake.distributor import Distributor, DistributorSettings
    from callboard.actors.publisher.queues.older_poller import OlderPoller, OlderPollerSettings
    from callboard.actors.publisher.queues.queue_cache import QueueCache, QueueCacheSettings
    from callboard.actors.publisher.queues.tail_poller import TailPoller, TailPollerSettings

    topics, producer = settings.topics, settings.producer
    distributor = DistributorSettings(
        topics.package, settings.name, settings.instance, producer, keys=settings.keys, throttle=settings.throttle,
        discovery=topics.discovery,
    )  # fmt: skip
    notifier = NotifierSettings(topics, settings.name, producer, settings.events)
    return (
        *_janitors(settings),
        ActorSpec(roles.DISTRIBUTOR, Distributor, distributor),
        ActorSpec(roles.TAIL_POLLER, TailPoller, TailPollerSettings(topics.package)),
        ActorSpec(roles.OLDER_POLLER, OlderPoller, OlderPollerSettings(topics.package)),
        ActorSpec(roles.QUEUE_CACHE, QueueCache, QueueCacheSettings(topics.package, settings.max_entries)),
        ActorSpec(roles.FLEET, Fleet, FleetSettings(topics.discovery, topics, settings.shortening)),
        ActorSpec(roles.STATUS_WATCHER, StatusWatcher, StatusWatcherSettings(topics.status, topics.package)),
        ActorSpec(roles.COMMAND_SENDER, CommandSender, CommandSenderSettings(topics.command, producer, topics.status)),
        ActorSpec(roles.NOTIFIER, Notifier, notifier),
    )


def _janitors(settings: PublisherSettings) -> tuple[ActorSpec, ...]:
    if not settings.blob_grace_s:
        return ()
    from callboard.actors.publisher.blob_janitor import BlobJanitor, BlobJanitorSettings

    topics = settings.topics
    janitor = BlobJanitorSettings(topics.package, topics.status, settings.blob_grace_s)
    return (ActorSpec(roles.BLOB_JANITOR, BlobJanitor, janitor),)
