"""Pages of queues and of error queues, for display."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.fleet.following import after_trim
from callboard.backends.log import Bounds
from callboard.board.context import BoardContext
from callboard.board.page import AsOf, Page, resumed, trimmed
from callboard.board.read.known_names import demand_publisher
from callboard.board.read.queues.queue_pages import page, queues_of
from callboard.board.read.queues.queue_sizes import check_time, counted, log_identity, queue_of
from callboard.board.read.status import status as statuses
from callboard.board.read.status.ages import age_s
from callboard.board.views import FailedPackage, FailureStatus, QueuedPackage, QueueView
from callboard.door.cursors import Place, cursor_at
from callboard.door.limits import ANSWER_S, OFFSET_MAX
from callboard.door.questions import asked
from callboard.errors import RequestRefused
from callboard.messages.distribution.fleet_mail import ErrorsQuery, Member
from callboard.messages.distribution.queue_mail import PackageSummary, QueueSize
from callboard.messages.distribution.topic_messages import DiscoveryMessage, PackageStatusMessage, State, Status

FAILED: Mapping[Status, FailureStatus] = {
    Status.REMOVED_FAILED: "given_up", Status.HELD: "held", Status.HOOK_FAILED: "hook_failed"
}  # fmt: skip
"""The names of failures in a view."""


_NO_ROOM = "{} older ones are only on the log; see `callboard log list --topic status`"


def entry_id(topic: str, offset: int) -> str:
    """The id of a package in a queue, by which it is found on the log."""
    return f"{topic}@{offset}"


def entry_offset(topic: str, entry: str) -> int:
    """The offset in an entry's id. Raises ``RequestRefused`` if it is not an id of this topic."""
    name, _, offset = entry.rpartition("@")
    if name != topic or not (offset.isascii() and offset.isdigit()) or int(offset) > OFFSET_MAX:
        raise RequestRefused(f"{entry!r} is not an entry of a queue; an entry looks like {entry_id(topic, 17)}")
    return int(offset)


async def newest_queued(
    agent: Agent, subscribers: Sequence[Member], publisher: str, bounds: Bounds, timeout_s: float
) -> list[int]:
    """The newest offset in the queue of each, -1 for an empty one; ``bounds`` are from ``log_bounds``.

    Raises as ``page``, and ``NotAnswered`` if it is not known in time whether a queue is empty.
    """
    names = [queues_of(each, publisher) for each in subscribers]
    wanted = [queue_of(each, bounds, name) for each, its in zip(subscribers, names, strict=True) for name in its]
    found = iter(await counted(agent, wanted, bounds.end, timeout_s, _newest_is_known))
    return [max(queue.newest if queue.size else -1 for queue in islice(found, len(its))) for its in names]


def _newest_is_known(queue: QueueSize) -> bool:
    return queue.size > 0 or not queue.uncounted  # counting starts at the newest


async def queued_at(
    agent: Agent, subscriber: Member, publisher: str, place: int, bounds: Bounds, timeout_s: float
) -> int | None:
    """The offset at this place of the subscriber's queue, 0 being its head; None if the queue is shorter.

    Raises as ``page``, and ``NotAnswered`` if it is not known in time.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:  # the first packages of an uncounted queue are known
        found = await page(agent, subscriber, publisher, bounds, timeout_s, skip=place, limit=1)
        if found.packages or not found.queue.uncounted:
            return found.packages[0].offset if found.packages else None
        check_time(deadline, timeout_s)


async def queue(
    board: BoardContext,
    subscriber: str,
    publisher: str = "",
    *,
    cursor: str = "",
    limit: int = 100,
    timeout_s: float = ANSWER_S,
) -> QueueView:
    """A page of what the subscriber has not processed yet, of one publisher or of all that it follows; ``cursor`` is
    that of the page before.

    Raises:
        RequestRefused: the subscriber was never heard of, or does not follow the publisher; the cursor is none of this
            queue.
        LogUnavailable: the log cannot be read.
    """
    asked(subscriber=subscriber, publisher=publisher, cursor=cursor, limit=limit, timeout_s=timeout_s)
    log, topic = board.log, board.topics.package
    await demand_publisher(log, board.topics, publisher)
    listing = ("queue", subscriber, publisher)
    place = await resumed(log, topic, cursor, listing)
    agent, now_ns = await board.viewer(), board.now_ns()
    log_id = await log_identity(log, topic)
    bounds, known = await log.bounds(topic), await statuses.members(agent, log_id, timeout_s)
    target = statuses.named(known, subscriber)
    after = max(target.announcement.offset, place.offset if place else -1)
    found = await page(agent, target, publisher, bounds, timeout_s, after=after, limit=limit)
    bounds = Bounds((await log.bounds(topic)).first, bounds.end)  # it may have been trimmed meanwhile
    head = target.announcement.head_offset
    follows = statuses.followed(target)
    if head < 0 and not place and found.packages and len(follows) == 1 and publisher in ("", *follows):
        head = found.packages[0].offset  # an older version, which does not announce it
    fleet = {each.announcement.subscriber: statuses.subscriber_status(each, (), (), now_ns) for each in known}
    row = statuses.subscriber_status(after_trim(target, bounds.first), [found.queue], (), now_ns)
    last = found.packages[-1].offset if found.packages else after
    more = last < found.queue.newest or found.queue.uncounted
    return QueueView(
        items=tuple(
            _queued(summary, topic, target.announcement if summary.offset == head else None, now_ns)
            for summary in found.packages
        ),
        as_of=AsOf(bounds.end or -1, now_ns),
        cursor=cursor_at(Place(last), listing, log_id) if more else "",
        size=found.queue.size,
        missing="; ".join(_missing(target.announcement, after, bounds.first, found.queue.uncounted)),
        subscriber=subscriber,
        publisher=publisher,
        state=statuses.queue_state(target, found.queue.size + found.queue.uncounted),
        length=found.queue.length,
        oldest_s=age_s(found.queue.oldest_ns, now_ns),
        troubles=statuses.judged(row, fleet).troubles,
    )


def _missing(said: DiscoveryMessage, after: int, first: int, uncounted: int) -> Iterable[str]:
    if 0 <= after < first - 1:
        yield trimmed(after + 1, first)
    elif said.state is State.GAP:
        yield said.reason
    if uncounted:
        yield f"{uncounted} offsets are still to be counted; ask again in a moment"


async def errors(
    board: BoardContext,
    subscriber: str = "",
    publisher: str = "",
    *,
    cursor: str = "",
    limit: int = 100,
    timeout_s: float = ANSWER_S,
) -> Page[FailedPackage]:
    """A page of the packages that subscribers gave up on; of all subscribers and publishers if none are given. A later
    page begins where the one before, whose ``cursor`` it is, ended.
    """
    asked(publisher=publisher, cursor=cursor, limit=limit, timeout_s=timeout_s)
    if subscriber != "":
        asked(subscriber=subscriber)
    await demand_publisher(board.log, board.topics, publisher)
    topic, listing = board.topics.package, ("errors", subscriber, publisher)
    place = await resumed(board.log, topic, cursor, listing) or Place(-1)
    agent = await board.viewer()
    if subscriber:
        await statuses.member(agent, subscriber, "", timeout_s)
    log_id, first, now_ns = await board.log.identity(topic), (await board.log.bounds(topic)).first, board.now_ns()
    query = ErrorsQuery(
        subscriber=subscriber, publisher=publisher, after=place.offset, after_subscriber=place.name, limit=limit + 1
    )
    found = await agent.ask(roles.STATUS_WATCHER, query, timeout_s)
    counted = [
        count for count in found.counts if subscriber in ("", count.subscriber) and publisher in ("", count.publisher)
    ]
    shown, more = found.errors[:limit], len(found.errors) > limit
    last = Place(shown[-1].offset, shown[-1].subscriber) if shown else place
    dropped = sum(count.dropped for count in counted)
    return Page(
        items=tuple(_failed(status, topic, first, now_ns) for status in shown),
        as_of=AsOf(found.next, now_ns),
        cursor=cursor_at(last, listing, log_id) if more else "",
        size=sum(count.size for count in counted),
        missing=_NO_ROOM.format(dropped) if dropped else "",
    )


def _failed(status: PackageStatusMessage, topic: str, first: int, now_ns: int) -> FailedPackage:
    return FailedPackage(
        subscriber=status.subscriber,
        publisher=status.publisher,
        entry=entry_id(topic, status.offset),
        offset=status.offset,
        id=status.package_id,
        status=FAILED[status.status],
        attempts=status.attempts,
        reason=status.reason,
        age_s=age_s(status.time_ns, now_ns),
        expired=status.offset < first,
    )


def _queued(summary: PackageSummary, topic: str, said: DiscoveryMessage | None, now_ns: int) -> QueuedPackage:
    """``said`` is the subscriber's announcement if the package is the head."""
    return QueuedPackage(
        entry=entry_id(topic, summary.offset),
        topic=topic,
        offset=summary.offset,
        time_ns=summary.time_ns,
        id=summary.package_id,
        kind=summary.kind.name,
        publisher=summary.publisher,
        paths=summary.paths,
        length=summary.length,
        age_s=age_s(summary.time_ns, now_ns),
        deep_paths=summary.deep_paths,
        user=summary.user,
        problem=summary.problem,
        attempts=said.attempts if said else 0,
        error=said.last_error if said and said.attempts else "",
    )
