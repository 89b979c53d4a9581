"""The sizes of subscribers' queues at this moment."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds, Log
from callboard.errors import LogError, LogUnavailable, NotAnswered
from callboard.messages.distribution.fleet_mail import Member
from callboard.messages.distribution.queue_mail import QueueSize, Sizes, SizesQuery

COUNT_S = 5.0
"""Seconds that a status waits for queues to be counted, as a publisher that has just started must do. It then reports
what is counted, some hundred thousand packages; the next status has the rest, unless the publisher ends."""


async def log_bounds(log: Log, topic: str) -> Bounds:
    """The range of packages on the log now, so that an answer about queues covers everything published before, and
    nothing that is gone.

    Both are 0 if the log cannot tell; the answer then uses what is known.
    """
    try:
        return await log.bounds(topic)
    except LogError:
        return Bounds(0, 0)


async def log_identity(log: Log, topic: str) -> str:
    """The identity of the package log, so that only positions on it are compared; empty if the log cannot tell."""
    try:
        return await log.identity(topic)
    except LogError:
        return ""


def queue_after(offset: int, bounds: Bounds, publisher: str, subscriber: str) -> QueueSize:
    """The query for the queue of a subscriber that has processed everything up to ``offset``."""
    return QueueSize(publisher=publisher, after=max(offset, bounds.first - 1), subscriber=subscriber)


def queue_of(member: Member, bounds: Bounds, publisher: str) -> QueueSize:
    """The query for a member's queue of this publisher's packages."""
    return queue_after(member.announcement.offset, bounds, publisher, member.announcement.subscriber)


async def sizes(agent: Agent, wanted: Iterable[QueueSize], end: int, timeout_s: float) -> Sizes:
    """The sizes of these queues, in order; none if there is a ``problem``. Queues not fully counted within ``COUNT_S``
    have ``uncounted`` offsets. ``end`` is that of ``log_bounds``.
    """
    query, loop = SizesQuery(queues=tuple(wanted), end=end), asyncio.get_running_loop()
    deadline = loop.time() + min(timeout_s, COUNT_S)
    while True:  # an answer waits up to half a second for counting to finish
        found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
        if found.problem or loop.time() >= deadline or not any(queue.uncounted for queue in found.queues):
            return found


async def counted(
    agent: Agent, wanted: Iterable[QueueSize], end: int, timeout_s: float,
    enough: Callable[[QueueSize], bool] = lambda queue: not queue.uncounted,
) -> Sequence[QueueSize]:  # fmt: skip
    """The sizes of these queues once ``enough`` is known of each; by default, once all are counted.

    Raises ``LogUnavailable`` if the log cannot be read, ``NotAnswered`` if they are not counted in time.
    """
    query, deadline = SizesQuery(queues=tuple(wanted), end=end), asyncio.get_running_loop().time() + timeout_s
    while True:  # an answer waits up to half a second for counting to finish
        found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
        if found.problem:
            raise LogUnavailable(found.problem)
        if all(map(enough, found.queues)):
            return found.queues
        check_time(deadline, timeout_s)


def check_time(deadline: float, timeout_s: float) -> None:
    """Raise ``NotAnswered`` after the deadline, which was set ``timeout_s`` ahead."""
    if asyncio.get_running_loop().time() >= deadline:
        raise NotAnswered(f"the queue could not be counted within {timeout_s:g} s; try again with more time")
