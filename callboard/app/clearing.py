"""The clear command: sent, and followed until the subscriber has obeyed."""

import asyncio
import secrets
from collections.abc import Callable

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.queues import page
from callboard.app.status import member
from callboard.app.views import Cleared
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.distribution import ClearCommand, CommandMessage
from callboard.messages.mailbox import CommandRequest, CommandSent, Member, QueuePage

POLL_S = 0.2


async def clear(
    agent: Agent,
    subscriber: str,
    publisher: str,
    *,
    up_to: int | None,
    first: int | None,
    reason: str,
    author: str,
    log_id: str,
    timeout_s: float,
    clock: Callable[[], float],
) -> Cleared:
    """Send the command and wait until it has taken effect; see ``Callboard.clear``. ``clock`` tells seconds."""
    target = await member(agent, subscriber, timeout_s)
    if not target.announcement.configuration.editable:
        raise RequestRefused(
            f"subscriber {subscriber!r} is not editable, so its queue cannot be cleared; start it with editable = true"
        )
    offset = await _last_offset(agent, target, publisher, up_to, first, timeout_s)
    command = CommandMessage(
        subscriber_instance="",
        subscriber=subscriber,
        clear=ClearCommand(offset=offset),
        publisher=publisher,
        command_id=secrets.token_hex(16),
        author=author,
        reason=reason,
        log_id=log_id,
    )
    sent = await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), timeout_s)
    assert isinstance(sent, CommandSent)
    if sent.problem:
        raise LogUnavailable(sent.problem)
    deadline = clock() + timeout_s
    packages = -1
    while packages < 0 and clock() < deadline:
        await asyncio.sleep(POLL_S)
        packages = _obeyed(target, await member(agent, subscriber, timeout_s), sent.offset, offset)
    return Cleared(command.command_id, subscriber, publisher, offset, packages)


def _obeyed(before: Member, now: Member, command_offset: int, last: int) -> int:
    """How many packages the command removed, or -1 while it has not taken effect."""
    said = now.announcement
    if said.command_offset < command_offset or said.offset < last:
        return -1
    return said.cleared - before.announcement.cleared


async def _last_offset(
    agent: Agent, target: Member, publisher: str, up_to: int | None, first: int | None, timeout_s: float
) -> int:
    """The last offset to clear. Raises ``RequestRefused`` when there is nothing to clear."""
    name = target.announcement.subscriber
    if up_to is not None and first is not None:
        raise RequestRefused("say either up to which offset or how many packages to clear, not both")
    if first is not None and first < 1:
        raise RequestRefused(f"cannot clear the first {first} packages; the least is 1")
    skip = first - 1 if first is not None else 0
    found: QueuePage = await page(agent, target, publisher, skip, 1, timeout_s)
    if not found.queue.size:
        raise RequestRefused(f"the queue of {name!r} is empty; there is nothing to clear")
    if up_to is not None:
        if up_to > found.queue.newest:
            raise RequestRefused(f"offset {up_to} is beyond the queue, which ends at {found.queue.newest}")
        return up_to
    return found.packages[0].offset if first is not None and found.packages else found.queue.newest
