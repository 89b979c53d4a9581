"""The actors of a subscriber agent."""

from callboard.actors.agent import ActorSpec
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.settings import SubscriberSettings

__all__ = ["SubscriberSettings", "actors"]


def actors(settings: SubscriberSettings) -> tuple[ActorSpec, ...]:
    """What a subscriber agent is made of; imported here, since a board that only looks needs none of it."""
    from callboard.actors.subscriber.announcer import Announcer
    from callboard.actors.subscriber.bookkeeper import Bookkeeper
    from callboard.actors.subscriber.command_handler import CommandHandler
    from callboard.actors.subscriber.golden_watcher import GoldenWatcher
    from callboard.actors.subscriber.importer import Importer
    from callboard.actors.subscriber.package_poller import PackagePoller

    return (
        ActorSpec(roles.ANNOUNCER, Announcer, settings),
        ActorSpec(roles.BOOKKEEPER, Bookkeeper, settings),
        ActorSpec(roles.COMMAND_HANDLER, CommandHandler, settings),
        ActorSpec(roles.PACKAGE_POLLER, PackagePoller, settings),
        ActorSpec(roles.IMPORTER, Importer, settings),
        *([ActorSpec(roles.GOLDEN_WATCHER, GoldenWatcher, settings)] if settings.golden else []),
    )
