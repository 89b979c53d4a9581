"""Follows the event topic, for a service that acts on what becomes of packages."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial

from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_publisher
from callboard.errors import LogReplaced, LogUnavailable, SchemaTooNew, Undecodable
from callboard.logger import get_logger
from callboard.messages.distribution.package_event import PackageEvent, open_event
from callboard.messages.record import Record
from callboard.messages.untrusted import distrust_of

WAIT_S = 10.0
"""Seconds of one wait for more; another wait follows."""
RETRY_S = 1.0
NEWEST_MAX = 50_000
"""Offsets at the end of the topic that are searched for the newest events."""
REPEATS_MAX = 10_000
"""Keys remembered: an event is repeated soon, by a notifier that takes over from one that died, or never."""


@dataclass(frozen=True, slots=True)
class BoardEvent:
    """Something that became of a package. ``position`` is its offset on the event topic: resume ``after`` it.

    ``kind`` is one of created, queued, distributed, imported, failed. ``offset`` is the package's, ``time_ns`` when it
    happened. ``key`` identifies the event and is the same each time it is repeated. The last four fields are about
    ``imported`` and ``failed``.
    """

    position: int
    kind: str
    publisher: str
    package_id: str
    offset: int
    key: str
    time_ns: int
    request: str
    paths: tuple[str, ...]
    deep_paths: tuple[str, ...]
    more_paths: int
    user: str
    length: int
    subscriber: str
    outcome: str
    reason: str
    attempts: int


async def events(
    board: BoardContext, log: Log, publisher: str, kinds: frozenset[str], after: int | None, *, follow: bool
) -> AsyncGenerator[BoardEvent, None]:
    """The events on this log, each once, until the board closes it; see ``Callboard.events``."""
    holds, topic = partial(board.resources.holds, log), board.topics.event
    if not holds():
        return
    identity = await log.identity(topic)
    first, end = await log.bounds(topic)
    start = first if after is not None and after < 0 else (after or 0) + 1
    if after is None:
        start = end if follow else max(first, end - NEWEST_MAX)
    seen = OrderedDict[str, None]()
    while holds():
        try:
            found = await _read(log, topic, identity, start, follow=follow)
        except LogUnavailable as error:
            if holds():
                await _pause(error, follow=follow)
            continue
        if not found and not follow:
            if not seen:
                await demand_publisher(log, board.topics, publisher)
            return
        for record in found:
            start = record.offset + 1
            event = _opened(record)
            if event is None or event.dedup_key in seen or (publisher and event.publisher != publisher):
                continue
            if event.dedup_key:
                seen[event.dedup_key] = None
            if len(seen) > REPEATS_MAX:
                seen.popitem(last=False)
            if not kinds or event.kind in kinds:
                yield board_event(record.offset, event)


async def _read(log: Log, topic: str, identity: str, start: int, *, follow: bool) -> Sequence[Record]:
    """The next records; none after a wait without any."""
    found = await log.read(topic, start, READ_RECORDS_MAX)
    if not found and follow:
        await log.wait(topic, start, WAIT_S)
    if await log.identity(topic) != identity:
        raise LogReplaced(f"topic {topic!r} was replaced; start again at its oldest event, with after=-1")
    return found


async def _pause(error: LogUnavailable, *, follow: bool) -> None:
    """Wait until the log is back, when following; otherwise raise the error."""
    if not follow:
        raise error
    get_logger().warning("events.not_read", reason=str(error))
    await asyncio.sleep(RETRY_S)


def board_event(position: int, event: PackageEvent) -> BoardEvent:
    """The event as users see it."""
    return BoardEvent(
        position=position,
        kind=event.kind,
        publisher=event.publisher,
        package_id=event.package_id,
        offset=event.offset,
        key=event.dedup_key,
        time_ns=event.time_ns,
        request=event.request,
        paths=event.paths,
        deep_paths=event.deep_paths,
        more_paths=event.more_paths,
        user=event.user,
        length=event.length,
        subscriber=event.subscriber,
        outcome=event.outcome.lower(),
        reason=event.reason,
        attempts=event.attempts,
    )


def _opened(record: Record) -> PackageEvent | None:
    if distrust_of(record):
        return None
    try:
        event = open_event(record)
    except (Undecodable, SchemaTooNew) as error:
        get_logger().warning("event.ignored", offset=record.offset, reason=str(error))
        return None
    return event if isinstance(event, PackageEvent) else None
