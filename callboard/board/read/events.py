"""Follows the event topic, for a service that acts on what becomes of packages."""

from collections import OrderedDict
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from callboard.backends.log import Log
from callboard.board.context import BoardContext
from callboard.board.read.following import following
from callboard.board.read.known_names import demand_publisher
from callboard.door.limits import OFFSET_MAX
from callboard.errors import SchemaTooNew, Undecodable
from callboard.logger import get_logger
from callboard.messages.distribution.package_event import PackageEvent, open_event
from callboard.messages.record import Record
from callboard.messages.untrusted import distrust_of

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
    topic = board.topics.event
    if not board.resources.holds(log):
        return
    identity = await log.identity(topic)
    first, end = await log.bounds(topic)
    start = first if after is not None and after < 0 else min((after or 0) + 1, OFFSET_MAX)
    if after is None:
        start = end if follow else max(first, end - NEWEST_MAX)
    seen = OrderedDict[str, None]()
    async for record in following(board, log, topic, identity, start, follow=follow):
        event = _opened(record)
        if event is None or event.dedup_key in seen or (publisher and event.publisher != publisher):
            continue
        if event.dedup_key:
            seen[event.dedup_key] = None
        if len(seen) > REPEATS_MAX:
            seen.popitem(last=False)
        if not kinds or event.kind in kinds:
            yield board_event(record.offset, event)
    if not follow and not seen and board.resources.holds(log):
        await demand_publisher(log, board.topics, publisher)


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
