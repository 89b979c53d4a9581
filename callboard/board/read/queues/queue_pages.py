"""Pages of a subscriber's queue, of one publisher or of several, in the order of the log."""

import asyncio
from collections.abc import Sequence

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds
from callboard.board.read.queues.queue_sizes import counted, queue_of
from callboard.board.read.status.status import followed
from callboard.door.limits import OFFSET_MAX
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.distribution.fleet_mail import Member
from callboard.messages.distribution.queue_mail import QueuePage, QueueQuery, QueueSize
from callboard.messages.event import replaced


def queues_of(subscriber: Member, publisher: str) -> tuple[str, ...]:
    """The publishers that are meant: the given one, or all that it follows if none is given.

    Raises ``RequestRefused`` if it does not follow the publisher.
    """
    follows = followed(subscriber)
    if publisher and follows != ("",) and publisher not in follows:
        name = subscriber.announcement.subscriber
        raise RequestRefused(
            f"subscriber {name!r} does not follow {publisher!r}, only {', '.join(follows)}", code="not_followed"
        )
    return (publisher,) if publisher else follows


async def page(
    agent: Agent, subscriber: Member, publisher: str, bounds: Bounds, timeout_s: float, *, after: int = -1,
    skip: int = 0, limit: int,
) -> QueuePage:  # fmt: skip
    """The packages of the subscriber's queue above the offset ``after``, and the size of the whole queue; ``bounds``
    are from ``log_bounds``.

    Raises ``RequestRefused`` if it does not follow the publisher, ``LogUnavailable`` if the log cannot be read.
    """
    queues = [queue_of(subscriber, bounds, name) for name in queues_of(subscriber, publisher)]
    if len(queues) == 1 and after <= queues[0].after:
        return await _page(agent, queues[0], skip, limit, bounds.end, timeout_s)
    whole = _joined(await counted(agent, queues, bounds.end, timeout_s, lambda _: True))
    if skip and not whole.uncounted:
        after, skip = await _after(agent, queues, whole, skip, bounds.end, timeout_s), 0
    left = (replaced(queue, after=max(after, queue.after)) for queue in queues)
    pages = await asyncio.gather(*(_page(agent, queue, 0, skip + limit, bounds.end, timeout_s) for queue in left))
    known = min(_known(one, skip + limit) for one in pages)
    found = [package for one in pages for package in one.packages if package.offset <= known]
    found.sort(key=lambda package: package.offset)
    newest = max(whole.newest, *(one.queue.newest for one in pages))
    return QueuePage(queue=replaced(whole, newest=newest), packages=tuple(found[skip : skip + limit]))


def _known(one: QueuePage, limit: int) -> int:
    """The offset up to which the page lacks no package; while a queue is being counted, a page may be short."""
    short = one.queue.uncounted and len(one.packages) < limit
    return (one.packages[-1].offset if one.packages else one.queue.after) if short else OFFSET_MAX


async def _after(
    agent: Agent, queues: Sequence[QueueSize], whole: QueueSize, skip: int, end: int, timeout_s: float
) -> int:
    """The offset up to which the queues hold ``skip`` packages together, by binary search."""
    low, high = whole.after, max(whole.newest, whole.after)
    while low < high:
        middle = (low + high) // 2
        moved = [replaced(queue, after=max(middle, queue.after)) for queue in queues]
        left = sum(queue.size for queue in await counted(agent, moved, end, timeout_s, lambda _: True))
        low, high = (low, middle) if left <= whole.size - skip else (middle + 1, high)
    return low


def _joined(queues: Sequence[QueueSize]) -> QueueSize:
    """The sum of several queues, which have no package in common."""
    return replaced(
        queues[0],
        publisher="",
        size=sum(queue.size for queue in queues),
        length=sum(queue.length for queue in queues),
        oldest_ns=min((queue.oldest_ns for queue in queues if queue.oldest_ns), default=0),
        newest=max(queue.newest for queue in queues),
        uncounted=max(queue.uncounted for queue in queues),
    )


async def _page(agent: Agent, queue: QueueSize, skip: int, limit: int, end: int, timeout_s: float) -> QueuePage:
    query = QueueQuery(
        after=queue.after, publisher=queue.publisher, subscriber=queue.subscriber, skip=skip, limit=limit, end=end
    )
    found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
    if found.problem:
        raise LogUnavailable(found.problem)
    return found
