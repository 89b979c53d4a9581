"""Appends commands for subscribers to the log, and reads their results."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import (
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
from callboard.actors.core.effects import Append
from callboard.actors.core.follower import Delivered, Follower, from_last
from callboard.errors import CallboardError, LogUnavailable, SchemaTooNew, Undecodable
from callboard.messages.distribution.fleet_mail import CommandRequest, CommandSent
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import CommandMessage, CommandResultMessage
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import Record

RESULTS_BACK = 2000
"""Statuses before the end of their topic that may already hold a result: those written while a command is being sent,
or while this actor restarts."""


@dataclass(frozen=True, slots=True)
class CommandSenderSettings:
    """The command topic, and the status topic with the results.

    Bounds: attempts to append, commands being appended at once, results remembered, and waiting queries.
    """

    topic: str
    producer: str
    status_topic: str
    max_attempts: int = 8
    max_in_progress: int = 1000
    max_results: int = 1000
    max_waiting: int = 1000


@dataclass(slots=True)
class Sending:
    """A command being appended to the log, and who waits for it."""

    command: CommandMessage
    origins: set[Origin] = field(default_factory=set)
    attempt: int = 0


class CommandSender:
    """Appends commands, each under its own id, so that a command sent twice is on the log once.

    Receives: CommandRequest; a duplicate of a command being appended is appended once. CommandResultQuery,
        answered once the subscriber reports the result, which may be never.
    Sends: CommandSent and CommandResultMessage, to the asker.
    Stores: commands on the log; the last results in memory. Reads the status topic only from the first command on.
    Timers: one per command id, the back-off while the log is unavailable, and the follower's, 0.1 to 5 s.
    Gives up: on a command after ``max_attempts`` attempts, or when the log rejects it; ``problem`` says so. On a
        query, with a line in the log, when too many wait.
    """

    def __init__(self, settings: CommandSenderSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._sending: dict[str, Sending] = {}
        self._follower: Follower | None = None
        self._results: dict[str, CommandResultMessage] = {}
        self._waiting: dict[Origin, str] = {}
        self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case CommandRequest(command=command):
                yield from self._listen()
                yield from self._request(command, origin, now)
            case CommandResultQuery(command_id=command_id):
                yield from self._listen()
                yield from self._expect(command_id, origin)
            case Done(Append() as effect, (int() as offset,)):
                yield from self._finish(CommandSent(command_id=effect.records[0].key, offset=offset))
            case Failed(Append() as effect, error):
                yield from self._failed(effect.records[0].key, error)
            case Tick(command_id) if command_id in self._sending:
                yield self._append(self._sending[command_id].command, now)
            case Stopping():
                self._stopping = True
            case _ if self._follower is not None:
                yield from self._hear(self._follower, message)
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

    # Results.

    def _listen(self) -> Iterable[Effect]:
        if self._follower is None:
            self._follower = Follower(self._settings.status_topic, from_last(RESULTS_BACK), self._rng)
            yield from self._follower.start()

    def _expect(self, command_id: str, origin: Origin) -> Iterable[Effect]:
        if result := self._results.get(command_id):
            yield Reply(origin, result)
        elif len(self._waiting) < self._settings.max_waiting:
            self._waiting[origin] = command_id
        else:
            yield note("question.dropped", "warning", waiting=len(self._waiting))

    def _hear(self, follower: Follower, message: Input) -> Iterable[Effect]:
        news, effects = follower.handle(message)
        if isinstance(news, Delivered):
            for record in news.records:
                if record.header("type") == "CommandResultMessage":
                    yield from self._take(record)
        yield from effects

    def _take(self, record: Record) -> Iterable[Effect]:
        try:
            result = open_record(record, CommandResultMessage)
        except (SchemaTooNew, Undecodable) as error:
            yield note("result.ignored", "warning", offset=record.offset, reason=str(error))
            return
        self._results[result.command_id] = result
        if len(self._results) > self._settings.max_results:
            del self._results[next(iter(self._results))]
        askers = [asker for asker, command_id in self._waiting.items() if command_id == result.command_id]
        for asker in askers:
            del self._waiting[asker]
            yield Reply(asker, result)

    # Commands.

    def _problem(self, command: CommandMessage) -> str:
        if self._stopping:
            return "the publisher is stopping; send the command again once it is back"
        if not command.command_id:
            return "the command has no id; give it one, and reuse it for retries"
        if len(self._sending) >= self._settings.max_in_progress:
            return f"{len(self._sending)} commands are already being sent; send it again later"
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
            problem = f"{error}; it may still be on the log: send it again with the same id"
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
