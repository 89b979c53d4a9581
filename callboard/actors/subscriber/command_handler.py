"""The command handler: picks the orders for this subscriber off the command topic."""

from collections.abc import Iterable, Iterator
from random import Random

from callboard.actors.decision import Effect, Input, Moment, Origin, PeerUp, Send, Stopped, Stopping, note
from callboard.actors.follower import Delivered, Follower, OutOfRange, from_offset
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import CallboardError, SchemaTooNew, Undecodable
from callboard.messages.distribution import CommandMessage
from callboard.messages.headers import addressed, open_record
from callboard.messages.mailbox import (
    CommandPassedOver,
    CommandReceived,
    CommandsBlocked,
    CommandsRead,
    CommandsWanted,
)
from callboard.messages.record import Record


class CommandHandler:
    """Follows the command topic from the last order that took effect.

    Receives: CommandsWanted (importer).
    Sends: CommandReceived, CommandPassedOver, CommandsRead, CommandsBlocked (importer).
    Stores: nothing; the position is in the importer's ledger.
    Timers: the follower's.
    Gives up when: a command cannot be understood; it is reported and nothing behind it is obeyed, until a version
        that knows it is started, or ``skip_commands`` names its offset. With ``command_keys`` it is passed over at
        once: what cannot be read is not signed, and whoever can write to the topic could block it with anything.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._wanted: CommandsWanted | None = None
        self._follower: Follower | None = None
        self._caught_up = False  # the importer knows that it has heard every command there was

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case CommandsWanted():
                self._wanted, self._caught_up = message, False
                start = from_offset(message.offset + 1, message.log_id)
                self._follower = Follower(self._settings.topics.command, start, self._rng)
                yield from self._follower.start()
            case PeerUp(role) if role == IMPORTER:
                self._follower = None  # what the former importer did not store must be heard again, in order
            case Stopping():
                self._follower = None
                yield Stopped()
            case _ if self._follower is not None:
                yield from self._follow(self._follower, message)
            case _:
                pass

    def _follow(self, follower: Follower, message: Input) -> Iterator[Effect]:
        news, effects = follower.handle(message)
        if isinstance(news, OutOfRange):
            yield from self._lost(news)
        elif isinstance(news, Delivered):
            for record in news.records:
                if not addressed(record.header("recipients"), self._settings.name):
                    continue
                try:
                    yield from self._heed(record, follower.log_id)
                except (Undecodable, SchemaTooNew) as error:
                    if self._may_pass_over(record.offset):
                        passed = CommandPassedOver(log_id=follower.log_id, offset=record.offset, reason=str(error))
                        yield Send(IMPORTER, passed)
                        continue
                    self._follower = None
                    yield from self._block(record.offset, error)
                    return
        if follower.caught_up and not self._caught_up:
            self._caught_up = True
            yield Send(IMPORTER, CommandsRead())
        yield from effects

    def _heed(self, record: Record, log_id: str) -> Iterator[Effect]:
        command = open_record(record, CommandMessage)
        instance = self._wanted.subscriber_instance if self._wanted else ""
        if command.subscriber == self._settings.name and command.subscriber_instance in ("", instance):
            yield Send(
                IMPORTER,
                CommandReceived(log_id=log_id, offset=record.offset, command=command, time_ns=record.time_ns),
            )

    def _lost(self, news: OutOfRange) -> Iterator[Effect]:
        """The topic does not go on where it was left: trimmed meanwhile, or an older copy of it is in place."""
        first, end = news.bounds.first, news.bounds.end
        if news.expected < first:
            yield note("commands.trimmed", "warning", start=news.expected, stop=first)
            return
        reason = (
            f"an older copy of the command topic is in place: offset {news.expected - 1} was heard, and it ends at "
            f"{end}; give orders of the meantime anew"
        )
        yield Send(
            IMPORTER,
            CommandPassedOver(log_id=news.bounds.log_id, offset=end - 1, reason=reason, set_back=True),
        )

    def _may_pass_over(self, offset: int) -> bool:
        return offset in self._settings.skip_commands or bool(self._settings.command_keys)

    def _block(self, offset: int, error: CallboardError) -> Iterator[Effect]:
        reason = (
            f"no command from offset {offset} of the command topic on is obeyed: {error}; if upgrading does not help, "
            f"start it with --skip-command {offset} to pass over this one"
        )
        yield note("command.undecodable", level="error", offset=offset, reason=str(error))
        yield Send(IMPORTER, CommandsBlocked(offset=offset, reason=reason))
