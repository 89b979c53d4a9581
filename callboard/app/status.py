"""Who has what, who has not, and why not: put together from the fleet, its queues and its errors."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.following import counts
from callboard.app.farm import publisher_status
from callboard.app.remedies import troubles
from callboard.app.views import BoardStatus, HeldUp, SubscriberStatus
from callboard.backends.log import Log
from callboard.errors import LogError, RequestRefused
from callboard.messages.distribution import State
from callboard.messages.mailbox import (
    ErrorCount,
    ErrorsPage,
    ErrorsQuery,
    FleetQuery,
    FleetView,
    Liveness,
    Member,
    QueueSize,
    Sizes,
    SizesQuery,
)

BLOCKED_ATTEMPTS = 3
"""A head that failed so often makes its queue ``blocked``: a passing error should alarm nobody."""

COUNT_S = 5.0
"""So long does a status wait for queues to be counted, which a publisher that has just started must do. It says what is
known by then: some hundred thousand packages, and the rest with the next one, unless the publisher ends."""


async def fleet(agent: Agent, timeout_s: float) -> FleetView:
    """Every subscriber ever heard of."""
    view = await agent.ask(roles.FLEET, FleetQuery(), timeout_s)
    assert isinstance(view, FleetView)
    return view


async def members(agent: Agent, timeout_s: float) -> tuple[Member, ...]:
    """Every subscriber ever heard of."""
    return (await fleet(agent, timeout_s)).members


async def member(agent: Agent, subscriber: str, timeout_s: float) -> Member:
    """The subscriber of this name. Raises ``RequestRefused`` if it was never heard of."""
    known = await members(agent, timeout_s)
    for candidate in known:
        if candidate.announcement.subscriber == subscriber:
            return candidate
    names = ", ".join(sorted(candidate.announcement.subscriber for candidate in known)) or "none yet"
    raise RequestRefused(f"no subscriber {subscriber!r} was ever heard of on this log; known: {names}")


def followed(member: Member) -> tuple[str, ...]:
    """The publishers whose packages are in the subscriber's queue; ``("",)`` for all of them."""
    return member.announcement.configuration.follows or ("",)


async def log_end(log: Log, topic: str) -> int:
    """Where the topic of packages ends now, so that an answer about queues has all that was published before.

    0 if the log cannot tell: what is known of it has to do.
    """
    try:
        return (await log.bounds(topic)).end
    except LogError:
        return 0


async def sizes(agent: Agent, wanted: Iterable[QueueSize], end: int, timeout_s: float) -> Sizes:
    """The sizes of these queues, in their order; none at all when there is a ``problem``. Those that are not counted
    within ``COUNT_S`` have something ``uncounted``. ``end`` is from ``log_end``.
    """
    query, loop = SizesQuery(queues=tuple(wanted), end=end), asyncio.get_running_loop()
    deadline = loop.time() + min(timeout_s, COUNT_S)
    while True:  # an answer takes as long as it helps to wait, up to half a second
        found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
        assert isinstance(found, Sizes)
        if found.problem or loop.time() >= deadline or not any(queue.uncounted for queue in found.queues):
            return found


async def board_status(agent: Agent, log: Log, topic: str, now_ns: int, timeout_s: float) -> BoardStatus:
    """The whole board at this moment; ``topic`` is that of packages."""
    view, end = await asyncio.gather(fleet(agent, timeout_s), log_end(log, topic))
    wanted = [
        QueueSize(publisher=publisher, after=member.announcement.offset)
        for member in view.members
        for publisher in followed(member)
    ]
    found = await sizes(agent, wanted, end, timeout_s)
    errors = await agent.ask(roles.STATUS_WATCHER, ErrorsQuery(limit=0), timeout_s)
    assert isinstance(errors, ErrorsPage)
    answers = iter(found.queues)
    rows = []
    for member in view.members:
        queues = [next(answers) for _ in followed(member)] if found.queues and not found.problem else []
        name = member.announcement.subscriber
        rows.append(_row(member, queues, [count for count in errors.counts if count.subscriber == name], now_ns))
    held_up = _held_up(view, now_ns)
    heard_of = {state.publisher for member in view.members for state in member.announcement.states}
    named = {*found.publishers, *held_up, *heard_of}
    publishers, problem = await publisher_status(agent, rows, named, now_ns, timeout_s)
    publishers = tuple(replace(each, held_up=held_up.get(each.name, ())) for each in publishers)
    return BoardStatus(tuple(rows), publishers, found.problem or problem, (*_notes(view), *_counting(rows)))


def age_s(then_ns: int, now_ns: int) -> float:
    """Seconds since then; never negative, for clocks differ."""
    return max(0.0, (now_ns - then_ns) / 1e9) if then_ns else 0.0


def queue_state(member: Member, size: int) -> str:
    """``idle``, ``running`` or ``blocked``; a queue whose size is not known is not idle."""
    said = member.announcement
    if size == 0:
        return "idle"
    stuck = said.state in (State.BLOCKED, State.GAP)
    return "blocked" if stuck or said.attempts >= BLOCKED_ATTEMPTS else "running"


def _held_up(view: FleetView, now_ns: int) -> dict[str, tuple[HeldUp, ...]]:
    """By publisher."""
    found: dict[str, tuple[HeldUp, ...]] = {}
    for said in view.throttled:
        since_s, left_s = age_s(said.since_ns, now_ns), said.delay_ms / 1000 - age_s(said.time_ns, now_ns)
        told = HeldUp(said.subscriber, since_s, said.backlog, said.waiting, max(left_s, 0.0))
        found[said.publisher] = (*found.get(said.publisher, ()), told)
    return found


def _notes(view: FleetView) -> Iterable[str]:
    if view.unread:
        yield (
            f"the oldest {view.unread} announcements were not read yet: subscribers that have been silent for long "
            "may be missing; ask again in a moment"
        )
    if view.dropped:
        yield f"{view.dropped} subscribers that were not heard of for longest are missing: memory has no room for them"


def _counting(rows: Iterable[SubscriberStatus]) -> Iterable[str]:
    for row in rows:
        if row.uncounted:
            yield (
                f"the queue of {row.name} is being counted, from its end: {row.lag_packages} packages by now, and the "
                f"{row.uncounted} offsets after {max(row.offset, 0)} are still to be read; ask again in a moment"
            )


def _row(member: Member, queues: list[QueueSize], errors: list[ErrorCount], now_ns: int) -> SubscriberStatus:
    said, configuration = member.announcement, member.announcement.configuration
    size = sum(queue.size for queue in queues) if queues else -1
    uncounted = max((queue.uncounted for queue in queues), default=0)
    running = member.liveness is Liveness.LIVE and said.import_started_ns > 0
    row = SubscriberStatus(
        name=said.subscriber,
        liveness=member.liveness.name.lower(),
        state=said.state.name.lower(),
        reason=said.reason,
        queue=queue_state(member, size or uncounted),
        offset=said.offset,
        lag_packages=size,
        lag_bytes=sum(queue.length for queue in queues) if queues else -1,
        lag_s=-1.0 if uncounted else max((age_s(queue.oldest_ns, now_ns) for queue in queues), default=-1.0),
        attempts=said.attempts,
        last_error=said.last_error,
        next_try_s=max(0.0, (said.next_try_ns - now_ns) / 1e9) if said.next_try_ns else 0.0,
        seen_s=age_s(member.seen_ns, now_ns),
        since_s=age_s(said.since_ns, now_ns),
        errors=sum(count.size for count in errors),
        errors_dropped=sum(count.dropped for count in errors),
        held=sum(count.held for count in errors),
        hooks=sum(count.hooks for count in errors),
        imported=said.imported,
        superseded=said.superseded,
        skipped=said.skipped,
        cleared=said.cleared,
        ready=said.ready,
        ready_reason=said.ready_reason,
        head_offset=said.head_offset,
        head_package=said.head_package,
        importing_s=age_s(said.import_started_ns, now_ns) if running else 0.0,
        throttle_per_min=said.throttle_per_min,
        editable=configuration.editable,
        max_retries=configuration.max_retries,
        on_give_up=configuration.on_give_up,
        golden=configuration.golden,
        follows=configuration.follows,
        counts=counts(member),
        repository=configuration.repository,
        instance=said.subscriber_instance,
        host=said.host,
        pid=said.pid,
        version=said.version,
        uncounted=uncounted,
    )
    return replace(row, troubles=troubles(row))
