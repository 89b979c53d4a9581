"""How much is in the queues of subscribers, at the moment of asking."""

import asyncio
from collections.abc import Iterable

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds, Log
from callboard.errors import LogError
from callboard.messages.distribution.mailbox import Member, QueueSize, Sizes, SizesQuery

COUNT_S = 5.0
"""So long does a status wait for queues to be counted, which a publisher that has just started must do. It says what is
known by then: some hundred thousand packages, and the rest with the next one, unless the publisher ends."""


async def log_bounds(log: Log, topic: str) -> Bounds:
    """Which packages there are now, so that an answer about queues has all that was published before, and nothing that
    is gone.

    Both are 0 if the log cannot tell: what is known of it has to do.
    """
    try:
        return await log.bounds(topic)
    except LogError:
        return Bounds(0, 0)


async def log_identity(log: Log, topic: str) -> str:
    """Which log the packages are on, to compare positions on it only; empty if the log cannot tell."""
    try:
        return await log.identity(topic)
    except LogError:
        return ""


def queue_after(offset: int, bounds: Bounds, publisher: str, subscriber: str) -> QueueSize:
    """The question about the queue of a subscriber that has processed everything up to ``offset``."""
    return QueueSize(publisher=publisher, after=max(offset, bounds.first - 1), subscriber=subscriber)


def queue_of(member: Member, bounds: Bounds, publisher: str) -> QueueSize:
    """The question about a member's queue of this publisher's packages."""
    return queue_after(member.announcement.offset, bounds, publisher, member.announcement.subscriber)


async def sizes(agent: Agent, wanted: Iterable[QueueSize], end: int, timeout_s: float) -> Sizes:
    """The sizes of these queues, in their order; none at all when there is a ``problem``. Those that are not counted
    within ``COUNT_S`` have something ``uncounted``. ``end`` is that of ``log_bounds``.
    """
    query, loop = SizesQuery(queues=tuple(wanted), end=end), asyncio.get_running_loop()
    deadline = loop.time() + min(timeout_s, COUNT_S)
    while True:  # an answer takes as long as it helps to wait, up to half a second
        found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
        if found.problem or loop.time() >= deadline or not any(queue.uncounted for queue in found.queues):
            return found
