"""Pages of queues and of error queues, for people."""

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.status import age_s, followed, member
from callboard.app.views import ErrorsView, FailedPackage, QueuedPackage, QueueView
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.mailbox import ErrorsPage, ErrorsQuery, Member, PackageSummary, QueuePage, QueueQuery


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
    agent: Agent, subscriber: str, publisher: str, skip: int, limit: int, now_ns: int, timeout_s: float
) -> QueueView:
    """One page of what the subscriber has not processed."""
    found = await page(agent, await member(agent, subscriber, timeout_s), publisher, skip, limit, timeout_s)
    return QueueView(
        subscriber=subscriber,
        publisher=publisher,
        size=found.queue.size,
        length=found.queue.length,
        oldest_s=age_s(found.queue.oldest_ns, now_ns),
        packages=tuple(_queued(summary, now_ns) for summary in found.packages),
    )


async def errors(
    agent: Agent, subscriber: str, publisher: str, skip: int, limit: int, now_ns: int, timeout_s: float
) -> ErrorsView:
    """One page of what subscribers gave up on."""
    query = ErrorsQuery(subscriber=subscriber, publisher=publisher, skip=skip, limit=limit)
    found = await agent.ask(roles.STATUS_WATCHER, query, timeout_s)
    assert isinstance(found, ErrorsPage)
    counted = (
        count.size
        for count in found.counts
        if subscriber in ("", count.subscriber) and publisher in ("", count.publisher)
    )
    failed = (
        FailedPackage(
            subscriber=status.subscriber,
            publisher=status.publisher,
            offset=status.offset,
            id=status.package_id,
            attempts=status.attempts,
            reason=status.reason,
            age_s=age_s(status.time_ns, now_ns),
        )
        for status in found.errors
    )
    return ErrorsView(sum(counted), tuple(failed))


def _queued(summary: PackageSummary, now_ns: int) -> QueuedPackage:
    return QueuedPackage(
        offset=summary.offset,
        id=summary.package_id,
        kind=summary.kind.name,
        publisher=summary.publisher,
        paths=summary.paths,
        length=summary.length,
        age_s=age_s(summary.time_ns, now_ns),
        user=summary.user,
        problem=summary.problem,
    )
