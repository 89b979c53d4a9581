"""What became of one package, by its subscribers' statuses and their announcements."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from callboard.backends.log import Log
from callboard.backends.logs.walk import between, first_since
from callboard.board.context import BoardContext
from callboard.board.read.explaining import leaves_out
from callboard.board.read.log.log_records import opened, record_at
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.read.status.status import members
from callboard.door.limits import ANSWER_S
from callboard.door.questions import asked
from callboard.errors import CallboardError, PackageError
from callboard.messages.distribution.fleet_mail import Liveness, Member
from callboard.messages.distribution.topic_messages import PackageMessage, PackageStatusMessage, Status
from callboard.messages.record import Headers, Record

FateName = Literal[
    "given_up", "held", "hook_failed", "unfinished", "next", "waiting", "imported", "superseded", "cleared", "skipped",
    "passed", "left_out",
]  # fmt: skip
"""What became of a package at a subscriber. ``next`` is at the head of the queue; a subscriber that reports no imports
has ``passed`` it; ``unfinished`` is known from an announcement alone."""

FATES: Mapping[Status, FateName] = {
    Status.REMOVED_FAILED: "given_up",
    Status.HELD: "held",
    Status.HOOK_FAILED: "hook_failed",
    Status.HOOK_SETTLED: "imported",
    Status.IMPORTED: "imported",
    Status.SUPERSEDED: "superseded",
    Status.REMOVED: "cleared",
    Status.SKIPPED: "skipped",
}

STATUSES_MAX = 50_000
"""Statuses read from a package's on: 50 each of a fleet of a thousand, which takes 0.2 s."""

CLOCKS_NS = 60 * 10**9
"""How far the clocks of a publisher and of subscribers may differ."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the package at a subscriber. ``time_ns`` is when it reported that, 0 if it did not."""

    subscriber: str
    name: FateName
    time_ns: int = 0
    attempts: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PackageStory:
    """A package and its ``fates``, the worst first. Without a ``message``, ``problem`` says why it cannot be decoded.
    Statuses after the ``unread`` offset of their topic were not read; -1 if all were.
    """

    offset: int
    time_ns: int
    headers: Headers
    message: PackageMessage | None
    fates: tuple[Fate, ...] = ()
    problem: str = ""
    unread: int = -1


async def package_story(board: BoardContext, offset: int, *, timeout_s: float = ANSWER_S) -> PackageStory:
    """The package at this offset, and what became of it.

    Raises ``OffsetOutOfRange`` if the log does not have it.
    """
    asked(offset=offset, timeout_s=timeout_s)
    log, topics = board.log, board.topics
    record = await record_at(log, topics.package, offset)
    message = package_in(record)
    if not isinstance(message, PackageMessage):
        return PackageStory(offset, record.time_ns, record.headers, None, problem=str(message))
    log_id, agent = await log_identity(log, topics.package), await board.viewer()
    fleet, (told, unread) = await asyncio.gather(
        members(agent, log_id, timeout_s), _told(log, topics.status, record, message)
    )
    fates = [_fate(each, offset, message, told.get(each.announcement.subscriber)) for each in fleet]
    known = {each.subscriber for each in fates}
    fates += [_reported(said, at_ns) for name, (said, at_ns) in told.items() if name not in known]
    order = {name: place for place, name in enumerate(get_args(FateName))}
    fates.sort(key=lambda fate: (order[fate.name], fate.time_ns, fate.subscriber))
    return PackageStory(offset, record.time_ns, record.headers, message, tuple(fates), unread=unread)


def package_in(record: Record) -> PackageMessage | CallboardError:
    """The package in the record, or why there is none."""
    event = opened(record)
    if isinstance(event, PackageMessage | CallboardError):
        return event
    return PackageError(f"it is a {type(event).__name__}, not a package")


Told = dict[str, tuple[PackageStatusMessage, int]]
"""By subscriber, its last status of the package, and when it was appended."""


async def _told(log: Log, topic: str, record: Record, message: PackageMessage) -> tuple[Told, int]:
    """What subscribers reported of the package, and from where on that is not known."""
    told: Told = {}
    wanted = message.package_id.encode()  # in the bytes of its statuses, so that only these are decoded
    start = await first_since(log, topic, record.time_ns - CLOCKS_NS)
    read, end = 0, (await log.bounds(topic)).end
    async for each in between(log, topic, start, end):
        if (read := read + 1) > STATUSES_MAX:
            return told, each.offset
        said = opened(each) if wanted in each.payload else None
        if isinstance(said, PackageStatusMessage) and said.offset == record.offset:
            before = told.get(said.subscriber)
            if before is None or _is_newer(said, before[0]):
                told[said.subscriber] = said, each.time_ns
    return told, -1


def _is_newer(said: PackageStatusMessage, before: PackageStatusMessage) -> bool:
    return said.subscriber_instance != before.subscriber_instance or said.sequence >= before.sequence


def _reported(said: PackageStatusMessage, at_ns: int) -> Fate:
    return Fate(said.subscriber, FATES[said.status], at_ns, said.attempts, said.reason)


def _fate(member: Member, offset: int, message: PackageMessage, told: tuple[PackageStatusMessage, int] | None) -> Fate:
    said = member.announcement
    if told:
        return _reported(*told)
    if reason := leaves_out(offset, message, said, {}):
        return Fate(said.subscriber, "left_out", reason=reason)
    if offset <= said.offset:
        return Fate(said.subscriber, "unfinished" if offset in said.left else "passed")
    away = "" if member.liveness is Liveness.LIVE else f"the subscriber is {member.liveness.name.lower()}"
    if offset != said.head_offset:
        return Fate(said.subscriber, "waiting", reason=away)
    doing = f"{said.state.name.lower()}: {said.reason or said.last_error}".removesuffix(": ")
    return Fate(said.subscriber, "next", attempts=said.attempts, reason=away or doing)
