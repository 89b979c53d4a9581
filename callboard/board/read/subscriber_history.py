"""What a subscriber was commanded, what it answered, and where it was when: read from the log on demand."""

from collections import deque
from dataclasses import dataclass

from callboard.backends.log import Log
from callboard.backends.logs.walk import newest
from callboard.board.context import BoardContext
from callboard.board.read.log.log_records import command_in_words, opened
from callboard.door.questions import asked
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    PackageStatusMessage,
    Status,
)
from callboard.messages.headers import addressed, may_be_by
from callboard.messages.record import Record
from callboard.messages.relayed import site_of

COMMANDS_BACK = 5_000
"""Commands read, of all subscribers."""

SAID_BACK = 20_000
"""Statuses or announcements read, of all subscribers: a tenth of a second."""

POSITIONS_MAX = 500
"""Positions kept: as many as a plot has room for."""

MOVES = frozenset(Status) - {Status.HOOK_FAILED, Status.HOOK_SETTLED}
"""The statuses of a package when the subscriber gets past it."""


Answer = tuple[CommandResultMessage, int]
Positions = deque[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Commanded:
    """A command to the subscriber. ``accepted`` is None until it has answered with the ``result``, at ``result_ns``;
    ``packages`` counts those removed, skipped or released.
    """

    offset: int
    time_ns: int
    command: str
    publisher: str
    author: str
    reason: str
    accepted: bool | None = None
    packages: int = 0
    result: str = ""
    result_ns: int = 0


@dataclass(frozen=True, slots=True)
class SubscriberHistory:
    """The newest ``commands`` to a subscriber, the newest first, and the ``positions`` it had, as time and offset."""

    commands: tuple[Commanded, ...]
    positions: tuple[tuple[int, int], ...]


async def subscriber_history(board: BoardContext, subscriber: str, *, limit: int = 20) -> SubscriberHistory:
    """The newest commands, up to ``limit``, and positions, as far back as a bounded part of the log tells.

    One that is not editable reports no imports; its positions are those that it announced.
    """
    asked(subscriber=subscriber, limit=limit)
    log, topics = board.log, board.topics
    answers, positions = await _reported(log, topics.status, subscriber)
    if not positions:
        positions = await _announced(log, topics.discovery, subscriber)
    commands = deque[Commanded](maxlen=limit)
    async for record in newest(log, topics.command, COMMANDS_BACK):
        event = opened(record) if addressed(record.header("recipients"), subscriber) else None
        if isinstance(event, CommandMessage) and event.subscriber == subscriber:
            commands.append(_commanded(record, event, answers.get(event.command_id)))
    return SubscriberHistory(tuple(reversed(commands)), tuple(positions))


def _commanded(record: Record, said: CommandMessage, answer: Answer | None) -> Commanded:
    asked_for = record.offset, record.time_ns, command_in_words(said), said.publisher, said.author, said.reason
    if answer is None:
        return Commanded(*asked_for)
    result, at_ns = answer
    return Commanded(*asked_for, result.accepted, result.packages, result.reason, at_ns)


async def _reported(log: Log, topic: str, subscriber: str) -> tuple[dict[str, Answer], Positions]:
    """By the id of a command, how it was answered, by itself or its relay; and the positions by statuses."""
    answers, positions, names = dict[str, Answer](), Positions(maxlen=POSITIONS_MAX), {subscriber, site_of(subscriber)}
    instance, last = "", -1
    async for record in newest(log, topic, SAID_BACK):
        said = opened(record) if any(may_be_by(record, name) for name in names) else None
        if isinstance(said, CommandResultMessage) and said.subscriber in names:
            answers[said.command_id] = said, record.time_ns
        elif getattr(said, "subscriber", "") != subscriber:
            continue
        elif isinstance(said, PackageStatusMessage) and said.status in MOVES:
            if said.subscriber_instance != instance:  # another repository, which may be further back
                instance, last = said.subscriber_instance, -1
            if said.offset > last:  # not one that was retried later
                last = said.offset
                positions.append((record.time_ns, last))
    return answers, positions


async def _announced(log: Log, topic: str, subscriber: str) -> Positions:
    """The positions by announcements, without those that say the same."""
    positions, last = Positions(maxlen=POSITIONS_MAX), -1
    async for record in newest(log, topic, SAID_BACK):
        said = opened(record) if may_be_by(record, subscriber) else None
        if isinstance(said, DiscoveryMessage) and said.subscriber == subscriber and said.offset != last:
            last = said.offset
            positions.append((record.time_ns, last))
    return positions
