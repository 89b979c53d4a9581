"""The view of a whole farm beside the queues of its members: how far the slowest of a cohort is."""

from collections.abc import Iterable

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.queue_sizes import queue_after
from callboard.app.views import FarmQueue, PublisherStatus, SubscriberStatus
from callboard.backends.log import Bounds
from callboard.messages.mailbox import QueueSize, Sizes, SizesQuery

PERSISTED = "persisted"
"""Kept by the editable subscribers, whose outcome decides for others."""
PUBLISHED = "published"
"""Has reached everybody."""


def straggler(rows: Iterable[SubscriberStatus], publisher: str, farm: str) -> tuple[SubscriberStatus | None, int]:
    """The member of the cohort that is furthest behind, and how many members it has.

    In it are those that follow the publisher and that somebody waits for: not who stopped, is gone, or was forgotten.
    """
    cohort = [
        row
        for row in rows
        if row.counts and _follows(row, publisher) and (row.editable or farm == PUBLISHED)
    ]
    return min(cohort, key=lambda row: (row.offset, -row.lag_packages, row.name), default=None), len(cohort)


async def publisher_status(
    agent: Agent, rows: list[SubscriberStatus], heard_of: Iterable[str], bounds: Bounds, now_ns: int, timeout_s: float
) -> tuple[tuple[PublisherStatus, ...], str]:
    """Every publisher that was heard of or is followed by name, and what went wrong."""
    names = sorted({*heard_of, *(name for row in rows for name in row.follows)})
    wanted = [(name, farm, *straggler(rows, name, farm)) for name in names for farm in (PERSISTED, PUBLISHED)]
    asked = [(name, farm, slowest, members) for name, farm, slowest, members in wanted if slowest is not None]
    each = (queue_after(slowest.offset, bounds, name, slowest.name) for name, _, slowest, _ in asked)
    query = SizesQuery(queues=tuple(each), end=bounds.end)
    found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
    assert isinstance(found, Sizes)
    if found.problem:
        return (), found.problem
    queues = {
        (name, farm): _farm_queue(farm, slowest, size, members, now_ns)
        for (name, farm, slowest, members), size in zip(asked, found.queues, strict=True)
    }
    return tuple(_publisher(name, rows, queues) for name in names), ""


def _publisher(
    name: str, rows: list[SubscriberStatus], queues: dict[tuple[str, str], FarmQueue]
) -> PublisherStatus:
    published = queues.get((name, PUBLISHED))
    followers = [row for row in rows if _follows(row, name)]
    if published is None or not (published.size or published.uncounted):
        state = "idle"
    else:
        state = "blocked" if any(row.counts and row.queue == "blocked" for row in followers) else "running"
    left_out = tuple(row.name for row in followers if not row.counts)
    return PublisherStatus(name, state, queues.get((name, PERSISTED)), published, left_out)


def _farm_queue(farm: str, slowest: SubscriberStatus, size: QueueSize, members: int, now_ns: int) -> FarmQueue:
    return FarmQueue(
        name=farm,
        publisher=size.publisher,
        size=size.size,
        length=size.length,
        oldest_s=max(0.0, (now_ns - size.oldest_ns) / 1e9) if size.oldest_ns else 0.0,
        straggler=slowest.name,
        offset=slowest.offset,
        state=slowest.queue if size.size or size.uncounted else "idle",
        attempts=slowest.attempts,
        last_error=slowest.last_error,
        members=members,
        uncounted=size.uncounted,
    )


def _follows(row: SubscriberStatus, publisher: str) -> bool:
    return not row.follows or publisher in row.follows
