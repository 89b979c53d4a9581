"""Puts orders to subscribers on the log."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from callboard.actors.backoff import Backoff
from callboard.actors.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Reply,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.effects import Append
from callboard.errors import CallboardError, LogUnavailable
from callboard.messages.distribution import CommandMessage
from callboard.messages.headers import new_record
from callboard.messages.mailbox import CommandRequest, CommandSent

RETRY = Backoff(first_s=0.1, max_s=5.0)


@dataclass(frozen=True, slots=True)
class CommandSenderSettings:
    """``topic`` is the command topic. Bounds: tries to append, and commands on their way at once."""

    topic: str
    producer: str
    max_attempts: int = 8
    max_in_progress: int = 1000


@dataclass(slots=True)
class Sending:
    """A command on its way to the log, and who waits for it."""

    command: CommandMessage
    origins: set[Origin] = field(default_factory=set)
    attempt: int = 0


class CommandSender:
    """Appends commands, each under its own id, so that one that is sent again is on the log once.

    Receives: CommandRequest; the same command again while it is on its way is appended once.
    Sends: CommandSent, to whoever asked.
    Stores: commands on the log.
    Timers: one per command id, the back-off while the log is unavailable, 0.1 to 5 s.
    Gives up: on a command after ``max_attempts`` tries, or when the log refuses it; ``problem`` says so.
    """

    def __init__(self, settings: CommandSenderSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._sending: dict[str, Sending] = {}
        self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case CommandRequest(command=command):
                yield from self._request(command, origin, now)
            case Done(Append() as effect, (int() as offset,)):
                yield from self._finish(CommandSent(command_id=effect.records[0].key, offset=offset))
            case Failed(Append() as effect, error):
                yield from self._failed(effect.records[0].key, error)
            case Tick(command_id) if command_id in self._sending:
                yield self._append(self._sending[command_id].command, now)
            case Stopping():
                self._stopping = True
        if self._stopping and not self._sending:
            yield Stopped()

    def _request(self, command: CommandMessage, origin: Origin, now: Moment) -> Iterable[Effect]:
        if sending := self._sending.get(command.command_id):
            sending.origins.add(origin)
        elif problem := self._problem(command):
            yield Reply(origin, CommandSent(command_id=command.command_id, problem=problem))
        else:
            self._sending[command.command_id] = Sending(command, {origin})
            yield self._append(command, now)

    def _problem(self, command: CommandMessage) -> str:
        if self._stopping:
            return "the publisher is stopping; send the command again once it is back"
        if not command.command_id:
            return "the command has no id; give it one, and use it again to send it again"
        if len(self._sending) >= self._settings.max_in_progress:
            return f"{len(self._sending)} commands are on their way already; send it again later"
        return ""

    def _append(self, command: CommandMessage, now: Moment) -> Append:
        record = new_record(
            command,
            record_id=command.command_id,
            time_ns=now.wall_ns,
            producer=self._settings.producer,
            key=command.command_id,
            publisher=command.publisher,
        )
        return Append(self._settings.topic, (record,))

    def _failed(self, command_id: str, error: CallboardError) -> Iterable[Effect]:
        sending = self._sending[command_id]
        sending.attempt += 1
        yield note("command.failed", "warning", command_id=command_id, attempt=sending.attempt, error=str(error))
        if isinstance(error, LogUnavailable) and sending.attempt < self._settings.max_attempts:
            yield After(command_id, RETRY.delay_s(sending.attempt, self._rng))
        else:
            problem = f"{error}; it may be on the log all the same: send it again with the same id"
            yield from self._finish(CommandSent(command_id=command_id, problem=problem))

    def _finish(self, sent: CommandSent) -> Iterable[Effect]:
        sending = self._sending.pop(sent.command_id)
        if not sent.problem:
            command = sending.command
            yield note(
                "command.sent", command_id=sent.command_id, offset=sent.offset, subscriber=command.subscriber,
                author=command.author, reason=command.reason,
            )  # fmt: skip
        yield from (Reply(origin, sent) for origin in sorted(sending.origins))
