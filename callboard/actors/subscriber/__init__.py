"""The actors of a subscriber agent."""

from callboard.actors.core.agent import ActorSpec
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.settings import SubscriberSettings

__all__ = ["SubscriberSettings", "actors"]


def actors(settings: SubscriberSettings) -> tuple[ActorSpec, ...]:
    """The actors of a subscriber agent. Imported lazily: a board used only for reading needs none of them."""
    from callboard.actors.subscriber.commands.command_handler import CommandHandler
    from callboard.actors.subscriber.importing.importer import Importer
    from callboard.actors.subscriber.importing.package_poller import PackagePoller
    from callboard.actors.subscriber.reporting.announcer import Announcer
    from callboard.actors.subscriber.reporting.status_sender import StatusSender
    from callboard.actors.subscriber.staging.golden_watcher import GoldenWatcher

    return (
        ActorSpec(roles.ANNOUNCER, Announcer, settings),
        ActorSpec(roles.STATUS_SENDER, StatusSender, settings),
        ActorSpec(roles.COMMAND_HANDLER, CommandHandler, settings),
        ActorSpec(roles.PACKAGE_POLLER, PackagePoller, settings),
        ActorSpec(roles.IMPORTER, Importer, settings),
        *([ActorSpec(roles.GOLDEN_WATCHER, GoldenWatcher, settings)] if settings.golden else []),
    )
