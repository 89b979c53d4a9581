"""Which subscriber has what, which has not, and why: combines the fleet, its queues and its errors."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.fleet.following import after_trim, as_reader, counts, is_elsewhere, on_log
from callboard.actors.publisher.intake.distributor import WAITING_MAX
from callboard.backends.address import shown
from callboard.backends.log import Bounds, Log
from callboard.board.read.queues.queue_sizes import log_identity, queue_of, sizes
from callboard.board.read.sites.report import site_status
from callboard.board.read.status.ages import age_s
from callboard.board.read.status.cohort import Cohorts, publisher_status
from callboard.board.read.status.remedies import needs, publisher_troubles, troubles
from callboard.board.views import BoardStatus, HeldUp, PublisherStatus, QueueState, SubscriberStatus
from callboard.door.limits import THROTTLE_S_MAX
from callboard.door.names import unknown
from callboard.errors import LogError, RequestRefused
from callboard.messages.bounds import is_id
from callboard.messages.distribution.fleet_mail import ErrorCount, ErrorsQuery, FleetQuery, FleetView, Liveness, Member
from callboard.messages.distribution.queue_mail import QueueSize
from callboard.messages.distribution.topic_messages import State
from callboard.messages.event import replaced
from callboard.messages.headers import SEPARATOR
from callboard.messages.relayed import site_of

PUBLISHERS_MAX = 10_000
"""Limit of publishers in a status, the same as of subscribers: any process can write packages in any name, and announce
that it follows any."""

QUEUES_MAX = 50_000
"""Limit of queues in a status: one for each publisher that a subscriber follows by name, or one if it follows all."""

QUESTION_BYTES_MAX = 16 << 20
"""Limit of the names in that query: a message to an actor has 64 MB at most, and the answer repeats them."""

BLOCKED_ATTEMPTS = 3
"""A queue is ``blocked`` after this many failures of its head: a passing error should not raise an alarm."""

NEXT_TRY_S_MAX = 86_400.0
"""An announced wait for the next attempt that is longer than this comes from a wrong clock."""


async def fleet(agent: Agent, log_id: str, timeout_s: float) -> FleetView:
    """Every subscriber ever heard of, as seen on the package log ``log_id``."""
    view = await agent.ask(roles.FLEET, FleetQuery(), timeout_s)
    return replaced(view, members=tuple(on_log(each, log_id) for each in view.members))


async def members(agent: Agent, log_id: str, timeout_s: float) -> tuple[Member, ...]:
    """Every subscriber ever heard of, as seen on the package log ``log_id``."""
    return (await fleet(agent, log_id, timeout_s)).members


async def member(agent: Agent, subscriber: str, log_id: str, timeout_s: float) -> Member:
    """The subscriber of this name. Raises ``RequestRefused`` if it was never heard of."""
    return named(await members(agent, log_id, timeout_s), subscriber)


def named(known: Iterable[Member], subscriber: str) -> Member:
    """The one of this name. Raises ``RequestRefused`` if it was never heard of, or is at a site."""
    if SEPARATOR in subscriber:
        site, name = relay_of(known, subscriber).announcement.subscriber, subscriber.partition(SEPARATOR)[2]
        message = f"{subscriber} is on the log of site {site}, where it is {name!r}; ask for it there"
        raise RequestRefused(message, code="at_site")
    by_name = {candidate.announcement.subscriber: candidate for candidate in known}
    if subscriber not in by_name:
        raise unknown("subscriber", subscriber, by_name)
    return by_name[subscriber]


def relay_of(known: Iterable[Member], subscriber: str) -> Member:
    """The relay that speaks for ``SITE/SUBSCRIBER``. Raises ``RequestRefused`` if there is none."""
    by_name, site = {candidate.announcement.subscriber: candidate for candidate in known}, site_of(subscriber)
    if site not in by_name:
        raise unknown("site", site, [name for name, each in by_name.items() if each.announcement.site is not None])
    if by_name[site].announcement.site is None:
        raise RequestRefused(
            f"{site!r} is not a relay, so there is no {subscriber!r}; `callboard status` lists the relays",
            code="unknown_name",
        )
    return by_name[site]


def followed(member: Member) -> tuple[str, ...]:
    """The publishers whose packages are in the subscriber's queue; ``("",)`` for all of them."""
    return member.announcement.configuration.follows or ("",)


async def board_status(agent: Agent, log: Log, topic: str, now_ns: int, timeout_s: float) -> BoardStatus:
    """The whole board at this moment; ``topic`` is the package topic."""
    log_id = await log_identity(log, topic)
    view, (bounds, away) = await asyncio.gather(fleet(agent, log_id, timeout_s), _bounds(log, topic))
    placed = _countable(view.members, log_id)
    relays = {name: as_reader(member) for name, member in placed.items() if member.announcement.site is not None}
    asked = (*placed.values(), *relays.values())
    wanted = [queue_of(member, bounds, publisher) for member in asked for publisher in followed(member)]
    found = await sizes(agent, wanted, bounds.end, timeout_s)
    errors = await agent.ask(roles.STATUS_WATCHER, ErrorsQuery(limit=0), timeout_s)
    its_errors = defaultdict[str, list[ErrorCount]](list)
    for count in errors.counts:
        its_errors[count.subscriber].append(count)
    answers, answered = iter(found.queues), found.queues and not found.problem
    its_queues = {name: [next(answers) for _ in followed(member)] for name, member in placed.items() if answered}
    behind = {name: sum(next(answers).size for _ in followed(its)) for name, its in relays.items() if answered}
    rows = []
    for member in view.members:
        name = member.announcement.subscriber
        its = its_queues.get(name, ()), its_errors.get(name, ())
        rows.append(subscriber_status(after_trim(member, bounds.first), *its, now_ns, behind.get(name, -1)))
    by_name = {row.name: row for row in rows}
    rows = [judged(row, by_name) for row in rows]
    held_up, cohorts = _held_up(view, bounds.end - bounds.first, now_ns), Cohorts(rows)
    heard_of = (state.publisher for member in view.members for state in member.announcement.states)
    names = list(dict.fromkeys((*found.publishers, *held_up, *cohorts.publishers, *heard_of)))
    shown = list(filter(is_id, names))[:PUBLISHERS_MAX]
    publishers, problem = await publisher_status(agent, cohorts, shown, bounds, now_ns, timeout_s)
    publishers = tuple(
        _judged_publisher(replace(each, held_up=held_up.get(each.name, ())), cohorts) for each in publishers
    )
    notes = (*_notes(view), *_left_out(view, placed, len(names) - len(shown), log_id), *_counting(rows))
    return BoardStatus(tuple(rows), publishers, found.problem or problem or away, notes)


async def _bounds(log: Log, topic: str) -> tuple[Bounds, str]:
    """The range of packages, and why it is unknown: the fleet and its queues answer by what they have read."""
    try:
        return await log.bounds(topic), ""
    except LogError as error:
        return Bounds(0, 0), str(error)


def _countable(members: Iterable[Member], log_id: str) -> dict[str, Member]:
    """The members on this log whose queues are queried, in order; not those that follow the most names."""
    found, room, room_bytes = list[Member](), QUEUES_MAX, QUESTION_BYTES_MAX
    for member in sorted(members, key=lambda member: len(followed(member))):
        names = followed(member)
        size = len("".join(names).encode()) + len(names) * len(member.announcement.subscriber.encode())
        if not is_elsewhere(member.announcement, log_id) and len(names) <= room and size <= room_bytes:
            room, room_bytes = room - len(names), room_bytes - size
            found.append(member)
    return {member.announcement.subscriber: member for member in found}


def _left_out(view: FleetView, placed: Mapping[str, Member], missing: int, log_id: str) -> Iterable[str]:
    if missing:
        yield f"{missing} publishers are missing: at most {PUBLISHERS_MAX} are shown, and none with an invalid name"
    here = [member for member in view.members if not is_elsewhere(member.announcement, log_id)]
    if len(here) > len(placed):
        yield (
            f"the queues of {len(here) - len(placed)} subscribers are not counted: together they follow too many "
            "publishers by name; `callboard queue NAME` shows one"
        )


def judged(row: SubscriberStatus, fleet: Mapping[str, SubscriberStatus]) -> SubscriberStatus:
    """The row with its troubles; ``fleet`` has the others by name."""
    found = troubles(row, fleet)
    return replace(row, troubles=found, needs=needs(found))


def _judged_publisher(row: PublisherStatus, cohorts: Cohorts) -> PublisherStatus:
    found = publisher_troubles(row, cohorts.blocked(row.name) if row.state == "blocked" else ())
    return replace(row, troubles=found, needs=needs(found))


def queue_state(member: Member, size: int) -> QueueState:
    """``idle``, ``running`` or ``blocked``; a queue of unknown size is not idle."""
    said = member.announcement
    if size == 0:
        return "idle"
    stuck = said.state in (State.BLOCKED, State.GAP)
    return "blocked" if stuck or said.attempts >= BLOCKED_ATTEMPTS else "running"


def _held_up(view: FleetView, packages: int, now_ns: int) -> dict[str, tuple[HeldUp, ...]]:
    """By publisher. Announced figures are capped: no backlog is larger than the number of packages."""
    found: dict[str, tuple[HeldUp, ...]] = {}
    for said in view.throttled:
        since_s, left_s = age_s(said.since_ns, now_ns), said.delay_ms / 1000 - age_s(said.time_ns, now_ns)
        entry = HeldUp(
            said.subscriber,
            since_s,
            _within(said.backlog, packages),
            _within(said.waiting, WAITING_MAX),
            min(max(left_s, 0.0), THROTTLE_S_MAX),
        )
        found[said.publisher] = (*found.get(said.publisher, ()), entry)
    return found


def _within(number: int, most: int) -> int:
    return min(max(number, 0), most)


def _notes(view: FleetView) -> Iterable[str]:
    if view.unread:
        yield (
            f"the oldest {view.unread} announcements are not read yet, so subscribers silent for long may be "
            "missing; try again in a moment"
        )
    if view.dropped:
        yield f"{view.dropped} subscribers are missing, those silent for longest: memory has no room for them"


def _counting(rows: Iterable[SubscriberStatus]) -> Iterable[str]:
    for row in rows:
        if row.uncounted:
            yield (
                f"the queue of {row.name} is being counted, from its end: {row.lag_packages} packages so far, the "
                f"{row.uncounted} offsets after {max(row.offset, 0)} are not read yet; try again in a moment"
            )


def subscriber_status(
    member: Member, queues: Sequence[QueueSize], errors: Sequence[ErrorCount], now_ns: int, behind: int = -1
) -> SubscriberStatus:
    """A subscriber's announcement, with the sizes of its queues and its errors; without troubles yet. A relay has not
    relayed ``behind`` packages.
    """
    said, configuration = member.announcement, member.announcement.configuration
    size = sum(queue.size for queue in queues) if queues else -1
    uncounted = max((queue.uncounted for queue in queues), default=0)
    running = member.liveness is Liveness.LIVE and said.import_started_ns > 0
    return SubscriberStatus(
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
        next_try_s=min(max(0.0, (said.next_try_ns - now_ns) / 1e9), NEXT_TRY_S_MAX) if said.next_try_ns else 0.0,
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
        include=configuration.include,
        exclude=configuration.exclude,
        counts=counts(member),
        repository=shown(configuration.repository),  # older versions announced more of it
        instance=said.subscriber_instance,
        host=said.host,
        pid=said.pid,
        version=said.version,
        hooks_due=said.hooks,
        hook_offset=said.hook_offset,
        hook_attempts=said.hook_attempts,
        hook_error=said.hook_error,
        left=said.left,
        uncounted=uncounted,
        site=site_status(member, behind, now_ns),
    )
