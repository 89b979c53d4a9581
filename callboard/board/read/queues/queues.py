"""Pages of queues and of error queues, for display."""

import asyncio
from collections.abc import Mapping, Sequence

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.fleet.following import after_trim
from callboard.backends.log import Bounds
from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_publisher
from callboard.board.read.queues.queue_pages import page, queues_of
from callboard.board.read.queues.queue_sizes import log_bounds, log_identity, queue_of
from callboard.board.read.status.status import (
    age_s,
    followed,
    judged,
    member,
    members,
    named,
    queue_state,
    subscriber_status,
)
from callboard.board.views import ErrorsView, FailedPackage, FailureStatus, QueuedPackage, QueueView
from callboard.door.limits import ANSWER_S, OFFSET_MAX
from callboard.door.questions import asked
from callboard.errors import LogUnavailable, NotAnswered, RequestRefused
from callboard.messages.distribution.mailbox import (
    ErrorsQuery,
    Member,
    PackageSummary,
    SizesQuery,
)
from callboard.messages.distribution.topic_messages import DiscoveryMessage, PackageStatusMessage, Status

FAILED: Mapping[Status, FailureStatus] = {
    Status.REMOVED_FAILED: "given_up", Status.HELD: "held", Status.HOOK_FAILED: "hook_failed"
}  # fmt: skip
"""The names of failures in a view."""


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
    query, deadline = SizesQuery(queues=tuple(wanted), end=bounds.end), _deadline(timeout_s)
    while True:  # an answer waits up to half a second for counting to finish
        found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
        if found.problem:
            raise LogUnavailable(found.problem)
        if all(queue.size or not queue.uncounted for queue in found.queues):  # counting starts at the newest
            newest = iter([queue.newest if queue.size else -1 for queue in found.queues])
            return [max(next(newest) for _ in its) for its in names]
        _check_time(deadline, timeout_s)


async def queued_at(
    agent: Agent, subscriber: Member, publisher: str, place: int, bounds: Bounds, timeout_s: float
) -> int | None:
    """The offset at this place of the subscriber's queue, 0 being its head; None if the queue is shorter.

    Raises as ``page``, and ``NotAnswered`` if it is not known in time.
    """
    deadline = _deadline(timeout_s)
    while True:  # as above; the first packages of an uncounted queue are known
        found = await page(agent, subscriber, publisher, place, 1, bounds, timeout_s)
        if found.packages or not found.queue.uncounted:
            return found.packages[0].offset if found.packages else None
        _check_time(deadline, timeout_s)


def _deadline(timeout_s: float) -> float:
    return asyncio.get_running_loop().time() + timeout_s


def _check_time(deadline: float, timeout_s: float) -> None:
    if asyncio.get_running_loop().time() >= deadline:
        raise NotAnswered(f"the queue could not be counted within {timeout_s:g} s; try again with more time")


async def queue(
    board: BoardContext,
    subscriber: str,
    publisher: str = "",
    *,
    skip: int = 0,
    limit: int = 100,
    timeout_s: float = ANSWER_S,
) -> QueueView:
    """A page of what the subscriber has not processed yet, of one publisher or of all that it follows.

    Raises:
        RequestRefused: the subscriber was never heard of, or does not follow the publisher.
        LogUnavailable: the log cannot be read.
    """
    asked(subscriber=subscriber, publisher=publisher, skip=skip, limit=limit, timeout_s=timeout_s)
    log, topic = board.log, board.topics.package
    await demand_publisher(log, board.topics, publisher)
    agent, now_ns = await board.viewer(), board.now_ns()
    log_id = await log_identity(log, topic)
    known, bounds = await asyncio.gather(members(agent, log_id, timeout_s), log_bounds(log, topic))
    target = named(known, subscriber)
    found = await page(agent, target, publisher, skip, limit, bounds, timeout_s)
    head = target.announcement.head_offset
    if head < 0 and found.packages and not skip and len(followed(target)) == 1 and publisher in ("", *followed(target)):
        head = found.packages[0].offset  # an older version, which does not announce it
    fleet = {each.announcement.subscriber: subscriber_status(each, (), (), now_ns) for each in known}
    row = judged(subscriber_status(after_trim(target, bounds.first), [found.queue], (), now_ns), fleet)
    return QueueView(
        subscriber=subscriber,
        publisher=publisher,
        state=queue_state(target, found.queue.size + found.queue.uncounted),
        size=found.queue.size,
        length=found.queue.length,
        oldest_s=age_s(found.queue.oldest_ns, now_ns),
        packages=tuple(
            _queued(summary, topic, target.announcement if summary.offset == head else None, now_ns)
            for summary in found.packages
        ),
        uncounted=found.queue.uncounted,
        troubles=row.troubles,
    )


async def errors(
    board: BoardContext,
    subscriber: str = "",
    publisher: str = "",
    *,
    skip: int = 0,
    limit: int = 100,
    timeout_s: float = ANSWER_S,
) -> ErrorsView:
    """A page of the packages that subscribers gave up on; of all subscribers and publishers if none are given."""
    asked(publisher=publisher, skip=skip, limit=limit, timeout_s=timeout_s)
    if subscriber != "":
        asked(subscriber=subscriber)
    await demand_publisher(board.log, board.topics, publisher)
    agent = await board.viewer()
    if subscriber:
        await member(agent, subscriber, "", timeout_s)
    topic, now_ns = board.topics.package, board.now_ns()
    first = (await board.log.bounds(topic)).first
    query = ErrorsQuery(subscriber=subscriber, publisher=publisher, skip=skip, limit=limit)
    found = await agent.ask(roles.STATUS_WATCHER, query, timeout_s)
    counted = [
        count
        for count in found.counts
        if subscriber in ("", count.subscriber) and publisher in ("", count.publisher)
    ]
    return ErrorsView(
        sum(count.size for count in counted),
        tuple(_failed(status, topic, first, now_ns) for status in found.errors),
        sum(count.dropped for count in counted),
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


def _queued(
    summary: PackageSummary, topic: str, said: DiscoveryMessage | None, now_ns: int
) -> QueuedPackage:
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
