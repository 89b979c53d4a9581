"""Pages of queues and of error queues, for people."""

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.status import age_s, followed, member, queue_state
from callboard.app.views import ErrorsView, FailedPackage, QueuedPackage, QueueView
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.distribution import DiscoveryMessage, PackageStatusMessage, Status
from callboard.messages.mailbox import ErrorsPage, ErrorsQuery, Member, PackageSummary, QueuePage, QueueQuery

FAILED = {Status.REMOVED_FAILED: "given_up", Status.HELD: "held", Status.HOOK_FAILED: "hook_failed"}
"""How a failure is called in a view."""


def entry_id(topic: str, offset: int) -> str:
    """How a queue names a package: what finds it again on the log."""
    return f"{topic}@{offset}"


def entry_offset(topic: str, entry: str) -> int:
    """The offset in an entry's id. Raises ``RequestRefused`` if it is none of this topic."""
    name, _, offset = entry.rpartition("@")
    if name != topic or not offset.isascii() or not offset.isdigit():
        raise RequestRefused(f"{entry!r} is no entry of a queue; such an id is like {entry_id(topic, 17)}")
    return int(offset)


async def page(
    agent: Agent, subscriber: Member, publisher: str, skip: int, limit: int, timeout_s: float
) -> QueuePage:
    """One page of the subscriber's queue.

    Raises ``RequestRefused`` when it does not follow the publisher, ``LogUnavailable`` when the log cannot be read.
    """
    follows = followed(subscriber)
    name = subscriber.announcement.subscriber
    if publisher and follows != ("",) and publisher not in follows:
        raise RequestRefused(f"subscriber {name!r} does not follow {publisher!r}, only {', '.join(follows)}")
    if not publisher and len(follows) > 1:
        raise RequestRefused(f"subscriber {name!r} follows {', '.join(follows)}; name one of these publishers")
    query = QueueQuery(
        after=subscriber.announcement.offset, publisher=publisher or follows[0], skip=skip, limit=limit
    )
    found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
    assert isinstance(found, QueuePage)
    if found.problem:
        raise LogUnavailable(found.problem)
    return found


async def queue(
    agent: Agent, topic: str, subscriber: str, publisher: str, skip: int, limit: int, now_ns: int, timeout_s: float
) -> QueueView:
    """One page of what the subscriber has not processed; ``topic`` is the package topic."""
    target = await member(agent, subscriber, timeout_s)
    found = await page(agent, target, publisher, skip, limit, timeout_s)
    head = target.announcement.head_offset
    if head < 0 and found.packages and not skip and len(followed(target)) == 1 and publisher in ("", *followed(target)):
        head = found.packages[0].offset  # a version that does not announce it
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
    )


async def errors(
    agent: Agent,
    topic: str,
    first: int,
    subscriber: str,
    publisher: str,
    skip: int,
    limit: int,
    now_ns: int,
    timeout_s: float,
) -> ErrorsView:
    """One page of what subscribers gave up on; the package topic now begins at ``first``."""
    query = ErrorsQuery(subscriber=subscriber, publisher=publisher, skip=skip, limit=limit)
    found = await agent.ask(roles.STATUS_WATCHER, query, timeout_s)
    assert isinstance(found, ErrorsPage)
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
    """``said`` is what the subscriber says of the package, if it is the head."""
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
