"""Clears queues: finds the packages that are meant, and appends the commands."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import TypeVar

from callboard.actors.core.agent import Agent
from callboard.actors.publisher.fleet.following import as_reader, counts, is_elsewhere
from callboard.backends.log import Bounds
from callboard.board.command.commands import CommandOptions, send
from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_publisher
from callboard.board.read.queues.queue_sizes import counted, log_bounds, log_identity, queue_after, queue_of
from callboard.board.read.queues.queues import newest_queued, queued_at
from callboard.board.read.status.status import followed, member, members, relay_of
from callboard.board.views import CommandResult
from callboard.door.limits import ANSWER_S, OFFSET_MAX
from callboard.door.questions import asked
from callboard.errors import RequestRefused
from callboard.messages.distribution.fleet_mail import Liveness, Member
from callboard.messages.distribution.topic_messages import ClearCommand
from callboard.messages.headers import SEPARATOR

COMMANDS_AT_ONCE = 500
"""Limit of parallel clears and their queries: half of what an agent accepts at once, so that others get a turn."""


RELAYED = "what was relayed before is cleared by `callboard clear {}/SUBSCRIBER`, for each of the site"
"""What the clear of a relay leaves."""

T = TypeVar("T")


async def clear(
    board: BoardContext,
    subscriber: str,
    publisher: str = "",
    *,
    up_to: int | None = None,
    first: int | None = None,
    reason: str = "",
    author: str = "",
    timeout_s: float = ANSWER_S,
) -> CommandResult:
    """Have the subscriber treat queued packages as done, without importing them. A relay clears what it has not relayed
    yet; what it has is cleared at each subscriber of the site, ``SITE/SUBSCRIBER``.

    Args:
        board: the open board.
        subscriber: it must be editable: otherwise it would silently differ from the others.
        publisher: clear only this publisher's packages; all if not given.
        up_to: the last offset to clear, from 0 on. Quarantined packages up to there are cleared and counted, too.
        first: how many packages, at least 1, to clear from the head of the queue, plus the quarantined ones before
            it; without ``up_to`` and ``first``, the whole queue as it is now. Not for a subscriber of a site.
        reason: for the record.
        author: for the record; the user of this process if not given.
        timeout_s: seconds to wait for the subscriber's answer; the command stands in any case.

    Raises:
        RequestRefused: no such subscriber, not an editable one, or nothing to clear.
        LogUnavailable: the command could not be appended.
        NotAnswered: the queue is too long to be counted within ``timeout_s``; no command was appended.
    """
    asked(subscriber=subscriber, publisher=publisher, up_to=up_to, first=first)
    asked(reason=reason, author=author, timeout_s=timeout_s)
    if up_to is not None and first is not None:
        raise RequestRefused("up_to and first both say how much to clear; give one of them")
    await demand_publisher(board.log, board.topics, publisher)
    agent = await board.viewer()
    options = CommandOptions(reason=reason, author=author, timeout_s=timeout_s)
    if SEPARATOR in subscriber:
        if first is not None:
            raise RequestRefused(
                "first counts packages of a queue that only the site has; give up_to (--up-to) instead"
            )
        relay, offset = await _at_site(board, agent, subscriber, up_to, timeout_s)
        return await send(board, agent, subscriber, relay, ClearCommand(offset=offset), options, publisher)
    target, bounds = await _target(board, agent, subscriber, timeout_s)
    (newest,) = await newest_queued(agent, [target], publisher, bounds, timeout_s)
    offset = _last_offset(target, newest, up_to, first)
    if first is not None:
        at = await queued_at(agent, target, publisher, first - 1, bounds, timeout_s)
        offset = offset if at is None else at
    done = await send(board, agent, subscriber, target, ClearCommand(offset=offset), options, publisher)
    if target.announcement.site is not None:
        done = replace(done, reason="; ".join(filter(None, (done.reason, RELAYED.format(quote(subscriber))))))
    return done


async def clearable(
    board: BoardContext, subscriber: str, up_to: int | None = None, timeout_s: float = ANSWER_S
) -> tuple[int, int]:
    """Up to which offset ``clear`` would go now, and how many queued packages that are, -1 if that is not known here.

    Raises as ``clear``.
    """
    asked(subscriber=subscriber, up_to=up_to, timeout_s=timeout_s)
    agent = await board.viewer()
    if SEPARATOR in subscriber:
        return (await _at_site(board, agent, subscriber, up_to, timeout_s))[1], -1
    target, bounds = await _target(board, agent, subscriber, timeout_s)
    (newest,) = await newest_queued(agent, [target], "", bounds, timeout_s)
    last = _last_offset(target, newest, up_to, None)
    wanted = [queue_of(target, bounds, name) for name in followed(target)]
    wanted += [queue_after(last, bounds, name, subscriber) for name in followed(target)]
    sizes = [queue.size for queue in await counted(agent, wanted, bounds.end, timeout_s)]
    many = len(wanted) // 2
    return last, sum(sizes[:many]) - sum(sizes[many:])


async def _at_site(
    board: BoardContext, agent: Agent, subscriber: str, up_to: int | None, timeout_s: float
) -> tuple[Member, int]:
    """The relay that speaks for ``SITE/SUBSCRIBER``, and the last offset of this board's log to clear there."""
    log_id = await log_identity(board.log, board.topics.package)
    relay = relay_of(await members(agent, log_id, timeout_s), subscriber)
    return relay, _last_offset(relay, (await board.log.bounds(board.topics.package)).end - 1, up_to, None)


async def _target(board: BoardContext, agent: Agent, subscriber: str, timeout_s: float) -> tuple[Member, Bounds]:
    """The subscriber, whose queue may be cleared, and the bounds of the log that it is on."""
    log, topic = board.log, board.topics.package
    log_id = await log_identity(log, topic)
    target, bounds = await asyncio.gather(member(agent, subscriber, log_id, timeout_s), log_bounds(log, topic))
    if not target.announcement.configuration.editable:
        raise RequestRefused(
            f"subscriber {subscriber!r} is not editable, so its queue cannot be cleared; start it with editable = true",
            code="not_editable",
        )
    if is_elsewhere(target.announcement, log_id):
        message = f"the queue of {subscriber!r} cannot be cleared: {target.announcement.reason}"
        raise RequestRefused(message, code="mismatch")
    return as_reader(target), bounds


async def clear_all(
    board: BoardContext,
    publisher: str = "",
    *,
    first: int | None = None,
    reason: str = "",
    author: str = "",
    timeout_s: float = ANSWER_S,
) -> tuple[CommandResult, ...]:
    """Clear the queue of every editable subscriber that has one and is not gone; returns the results by name.

    With ``first``, clear only this many packages of the cohort's queue (``callboard queue --cohort persisted``): all
    clear up to the same offset, which is ``first`` packages for the slowest, and fewer or none for those ahead.
    Stopped subscribers are then left out. Subscribers with nothing to clear always are.

    Other arguments and errors as for ``clear``.
    """
    asked(publisher=publisher, first=first, reason=reason, author=author, timeout_s=timeout_s)
    await demand_publisher(board.log, board.topics, publisher)
    agent = await board.viewer()
    log, topic = board.log, board.topics.package
    log_id = await log_identity(log, topic)
    known, bounds = await asyncio.gather(members(agent, log_id, timeout_s), log_bounds(log, topic))
    fleet = [
        as_reader(each)
        for each in known
        if each.announcement.configuration.editable
        and not is_elsewhere(each.announcement, log_id)
        and (each.liveness is not Liveness.GONE if first is None else counts(each))
        and publisher in ("", *(each.announcement.configuration.follows or (publisher,)))
    ]
    newest = await newest_queued(agent, fleet, publisher, bounds, timeout_s)

    clears = [(target, offset) for target, offset in zip(fleet, newest, strict=True) if offset >= 0]
    if first is not None:

        async def at(place: int) -> tuple[int | None, ...]:
            asks = [partial(queued_at, agent, each, publisher, place, bounds, timeout_s) for each, _ in clears]
            return await _few_at_once(asks)

        heads = await at(0)
        last = min((offset for offset in await at(first - 1) if offset is not None), default=OFFSET_MAX)
        clears = [
            (target, min(offset, last))  # no subscriber clears more, even if its queue holds more
            for (target, offset), head in zip(clears, heads, strict=True)
            if head is not None and head <= last
        ]
    options = CommandOptions(reason=reason, author=author, timeout_s=timeout_s)
    return await _few_at_once(
        partial(send, board, agent, each.announcement.subscriber, each, ClearCommand(offset=offset), options, publisher)
        for each, offset in clears
    )


async def _few_at_once(works: Iterable[Callable[[], Awaitable[T]]]) -> tuple[T, ...]:
    """The results, in order; after a failure, no further work starts."""
    turns = asyncio.Semaphore(COMMANDS_AT_ONCE)

    async def in_turn(work: Callable[[], Awaitable[T]]) -> T:
        async with turns:
            return await work()

    tasks = [asyncio.create_task(in_turn(work)) for work in works]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _last_offset(target: Member, newest: int, up_to: int | None, first: int | None) -> int:
    """The offset to clear up to; it must be in the queue, whose newest offset is ``newest``."""
    said = target.announcement
    if newest < 0 and first is None and said.held:
        newest = said.offset  # quarantined packages are cleared as well
    if newest < 0:
        rest = f"; {RELAYED.format(quote(said.subscriber))}" if said.site is not None else ""
        message = f"the queue of {said.subscriber!r} is empty; there is nothing to clear{rest}"
        raise RequestRefused(message, code="empty")
    if up_to is not None and up_to > newest:
        raise RequestRefused(f"offset {up_to} is beyond the queue, which ends at {newest}", code="out_of_range")
    return newest if up_to is None or first is not None else up_to
