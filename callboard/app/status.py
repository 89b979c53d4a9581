"""Who has what, who has not, and why not: put together from the fleet, its queues and its errors."""

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.views import BoardStatus, SubscriberStatus
from callboard.errors import RequestRefused
from callboard.messages.mailbox import (
    ErrorsPage,
    ErrorsQuery,
    FleetQuery,
    FleetView,
    Member,
    QueueSize,
    Sizes,
    SizesQuery,
)


async def members(agent: Agent, timeout_s: float) -> tuple[Member, ...]:
    """Every subscriber ever heard of."""
    view = await agent.ask(roles.FLEET, FleetQuery(), timeout_s)
    assert isinstance(view, FleetView)
    return view.members


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


async def board_status(agent: Agent, now_ns: int, timeout_s: float) -> BoardStatus:
    """The whole board at this moment."""
    fleet = await members(agent, timeout_s)
    wanted = tuple(
        QueueSize(publisher=publisher, after=member.announcement.offset)
        for member in fleet
        for publisher in followed(member)
    )
    sizes = await agent.ask(roles.QUEUE_CACHE, SizesQuery(queues=wanted), timeout_s)
    errors = await agent.ask(roles.STATUS_WATCHER, ErrorsQuery(limit=0), timeout_s)
    assert isinstance(sizes, Sizes)
    assert isinstance(errors, ErrorsPage)
    answers = iter(sizes.queues)
    rows = []
    for member in fleet:
        queues = [next(answers, None) for _ in followed(member)]
        name = member.announcement.subscriber
        failed = sum(count.size for count in errors.counts if count.subscriber == name)
        rows.append(_row(member, [queue for queue in queues if queue is not None], failed, now_ns))
    return BoardStatus(tuple(rows), sizes.publishers, sizes.problem)


def age_s(then_ns: int, now_ns: int) -> float:
    """Seconds since then; never negative, for clocks differ."""
    return max(0.0, (now_ns - then_ns) / 1e9) if then_ns else 0.0


def _row(member: Member, queues: list[QueueSize], errors: int, now_ns: int) -> SubscriberStatus:
    said = member.announcement
    known = bool(queues)
    return SubscriberStatus(
        name=said.subscriber,
        liveness=member.liveness.name.lower(),
        state=said.state.name.lower(),
        reason=said.reason,
        offset=said.offset,
        lag_packages=sum(queue.size for queue in queues) if known else -1,
        lag_s=max((age_s(queue.oldest_ns, now_ns) for queue in queues), default=-1.0),
        attempts=said.attempts,
        last_error=said.last_error,
        next_try_s=max(0.0, (said.next_try_ns - now_ns) / 1e9) if said.next_try_ns else 0.0,
        seen_s=age_s(member.seen_ns, now_ns),
        since_s=age_s(said.since_ns, now_ns),
        errors=errors,
        imported=said.imported,
        cleared=said.cleared,
        editable=said.configuration.editable,
        max_retries=said.configuration.max_retries,
        follows=said.configuration.follows,
        repository=said.configuration.repository,
        instance=said.subscriber_instance,
        host=said.host,
        pid=said.pid,
        version=said.version,
    )
