"""The command handler: picks the commands for this subscriber off the command topic."""

from collections.abc import Iterable, Iterator
from random import Random

from callboard.actors.core.decision import Effect, Input, Moment, Origin, PeerUp, Send, Stopped, Stopping, note
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, from_first
from callboard.actors.subscriber.commands.predecessors import Predecessors
from callboard.actors.subscriber.commands.topic_position import CommandsHeard
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import CallboardError, SchemaTooNew, Undecodable
from callboard.messages.codec import decode
from callboard.messages.distribution.mailbox import (
    CommandPassedOver,
    CommandReceived,
    CommandsBlocked,
    CommandsRead,
    CommandsWanted,
)
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.untrusted import distrust_of

ID_CHARS_MAX = 200
"""Of the id of an untrusted command: the answer repeats it, and our own ids have 32 characters."""

REFUSALS_MAX = 20
REFUSALS_S = 60.0
"""At most this number of untrusted commands is answered in this time, more than a person types. Each answer costs the
importer a transaction and the log a record: thousands of forged commands must not make us fill the log.
"""


class CommandHandler:
    """Follows the command topic from the last command that was handled.

    Receives: CommandsWanted (importer).
    Sends: CommandReceived, CommandPassedOver, CommandsRead, CommandsBlocked (importer).
    Stores: nothing; the position is in the importer's ledger.
    Timers: the follower's back-off, 0.1 to 5 s.
    Gives up: when a command cannot be decoded. It is reported, and no later command is carried out until a version
        that knows it is started, or ``skip_commands`` names its offset. An untrusted one is refused if possible, and
        blocks nothing, since anyone with write access could have sent it. Of many such, only a few are answered.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._follower: Follower | None = None
        self._heard: CommandsHeard | None = None
        self._before: Predecessors | None = None  # until every command on the topic was heard
        self._refused_s: list[float] = []  # when the last untrusted commands were refused

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case CommandsWanted():
                self._heard, self._before = CommandsHeard(message), Predecessors(message)
                self._follower = Follower(self._settings.topics.command, self._heard.start, self._rng)
                yield from self._follower.start()
            case PeerUp(role) if role == IMPORTER:
                self._follower = None  # what the previous importer did not store must be heard again, in order
            case Stopping():
                self._follower = None
                yield Stopped()
            case _ if self._follower is not None and self._heard is not None:
                yield from self._follow(self._follower, self._heard, message, now)
            case _:
                pass

    def _follow(self, follower: Follower, heard: CommandsHeard, message: Input, now: Moment) -> Iterator[Effect]:
        news, effects = follower.handle(message)
        if isinstance(news, OutOfRange):
            yield from self._lost(news, heard)
        elif isinstance(news, Delivered) and heard.is_elsewhere(news, follower.log_id):
            self._follower = Follower(self._settings.topics.command, from_first(), self._rng)
            yield from self._follower.start()
            return
        elif isinstance(news, Delivered):
            if self._before is not None and news.records:
                self._before.last = news.records[-1].offset, news.records[-1].time_ns
            for found in heard.sift(news, follower.log_id, all_read=follower.caught_up):
                if isinstance(found, CommandPassedOver):
                    yield Send(IMPORTER, found)
                    continue
                recipients = found.header("recipients")
                if recipients and not any(map(self._settings.speaks_for, recipients.split("\n"))):
                    continue
                heard.hear(found)
                try:
                    yield from self._forward(found, follower.log_id, now)
                except (Undecodable, SchemaTooNew) as error:
                    if not self._may_pass_over(found.offset):
                        self._follower = None
                        yield from self._block(found.offset, error)
                        return
                    yield Send(
                        IMPORTER,
                        CommandPassedOver(
                            log_id=follower.log_id, offset=found.offset, reason=str(error), time_ns=found.time_ns
                        ),
                    )
        if follower.caught_up and self._before is not None:
            before, self._before = self._before, None
            yield from self._begin(before, follower)
        yield from effects

    def _forward(self, record: Record, log_id: str, now: Moment) -> Iterator[Effect]:
        """Forward a command. The importer refuses new ones that are for another instance."""
        if reason := distrust_of(record):
            yield from self._refuse(record, log_id, reason, now)
            return
        command = open_record(record, CommandMessage)
        if not self._settings.speaks_for(command.subscriber):
            return
        message = CommandReceived(log_id=log_id, offset=record.offset, command=command, time_ns=record.time_ns)
        is_forwarded = command.subscriber != self._settings.name
        before = self._before
        if before is None or (before.names_us(message) if is_forwarded else before.concerns_us(message)):
            yield Send(IMPORTER, message)

    def _refuse(self, record: Record, log_id: str, reason: str, now: Moment) -> Iterator[Effect]:
        """Have the importer answer an untrusted command if its sender may be waiting. Only its id is used."""
        self._refused_s = [at_s for at_s in self._refused_s if now.mono_s - at_s < REFUSALS_S]
        if len(self._refused_s) >= REFUSALS_MAX:
            return
        try:
            command = decode(CommandMessage, record.payload)
        except Undecodable:
            return
        listening = self._before is None or not self._before.newcomer
        if listening and command.subscriber == self._settings.name and len(command.command_id) <= ID_CHARS_MAX:
            old = "; it is signed in the old way: upgrade callboard at its sender" if command.signature else ""
            self._refused_s.append(now.mono_s)
            bare = CommandMessage(subscriber_instance="", subscriber=command.subscriber, command_id=command.command_id)
            yield Send(
                IMPORTER,
                CommandReceived(
                    log_id=log_id, offset=record.offset, command=bare, time_ns=record.time_ns, distrust=reason + old
                ),
            )

    @staticmethod
    def _begin(before: Predecessors, follower: Follower) -> Iterator[Effect]:
        """Every command on the topic was heard. The later ones are for an instance that listens."""
        if before.newcomer:
            yield from (Send(IMPORTER, message) for message in before.open_to_newcomers)
            offset, time_ns = before.last if before.last[0] >= 0 else (follower.position - 1, 0)
            yield Send(IMPORTER, CommandPassedOver(log_id=follower.log_id, offset=offset, reason="", time_ns=time_ns))
        yield Send(IMPORTER, CommandsRead(void=before.void))

    @staticmethod
    def _lost(news: OutOfRange, heard: CommandsHeard) -> Iterator[Effect]:
        """The topic does not continue where reading stopped: it was trimmed, or replaced by an older copy."""
        if news.expected < news.bounds.first:
            yield note("commands.trimmed", "warning", start=news.expected, stop=news.bounds.first)
        elif (passed := heard.set_back(news.bounds)) is not None:
            yield Send(IMPORTER, passed)

    def _may_pass_over(self, offset: int) -> bool:
        return offset in self._settings.skip_commands

    def _block(self, offset: int, error: CallboardError) -> Iterator[Effect]:
        reason = (
            f"commands from offset {offset} of the command topic on wait: {error}; if upgrading does not help, start "
            f"the subscriber with --skip-command {offset} to pass over this one"
        )
        yield note("command.undecodable", level="error", offset=offset, reason=str(error))
        yield Send(IMPORTER, CommandsBlocked(offset=offset, reason=reason))
