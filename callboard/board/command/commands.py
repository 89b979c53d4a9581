"""Commands to subscribers: appended to the log, then awaited until the subscriber has answered.

A command carries its author and reason, and is addressed to the repository that last announced the name: a new
repository under the same name ignores it. Its repository carries it out once, in the order of the log, also after a
restart. Every command gets a reply, including a rejection.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import TypedDict, Unpack

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.fleet.following import as_reader, position
from callboard.board.connect.user import current_user
from callboard.board.context import BoardContext
from callboard.board.read.questions import member
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.read.queues.queues import queue
from callboard.board.read.sites.across import across
from callboard.board.read.status.status import members, relay_of
from callboard.board.views import CommandResult
from callboard.door.limits import ANSWER_S
from callboard.door.names import unknown
from callboard.door.questions import asked, commanded
from callboard.errors import LogUnavailable, NotAnswered, RequestRefused
from callboard.messages.distribution.fleet_mail import CommandRequest, Liveness, Member
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import (
    COMMANDS,
    ClearCommand,
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    PauseCommand,
    ResumeCommand,
    RetryCommand,
    SkipCommand,
    ThrottleCommand,
    VerifyCommand,
)
from callboard.messages.event import replaced
from callboard.messages.headers import SEPARATOR
from callboard.messages.relayed import site_of

Command = ClearCommand | RetryCommand | SkipCommand | PauseCommand | ResumeCommand | ThrottleCommand | VerifyCommand
NAMES: Mapping[type, str] = {kind: name for name, kind in COMMANDS.items()}


class CommandOptions(TypedDict, total=False):
    """Options of every command.

    ``reason`` and ``author`` are for the record; the author is the user of this process if not given. ``force`` allows
    a pause or a limit for a subscriber that was never heard of; the first one to use that name accepts it. A board with
    ``trusted_keys`` refuses that: the command would hold for a repository that is created long after it.
    ``timeout_s`` is how many seconds to wait for the answer; the command stands in any case.
    """

    reason: str
    author: str
    force: bool
    timeout_s: float


async def retry(
    board: BoardContext,
    subscriber: str,
    offset: int | None = None,
    *,
    without_golden: bool = False,
    **options: Unpack[CommandOptions],
) -> CommandResult:
    """Have the subscriber retry now, instead of waiting for its next attempt or a verdict.

    Args:
        board: the open board.
        subscriber: its name.
        offset: a package that was quarantined or given up; the one at the head of the queue if not given.
        without_golden: import the package at the head without waiting for the golden subscriber's verdict.
        **options: see ``CommandOptions``.

    Raises:
        RequestRefused: no such subscriber, or an impossible offset.
        LogUnavailable: the command could not be appended.
    """
    asked(without_golden=without_golden)
    if offset is not None:
        asked(offset=offset)
    command = RetryCommand(offset=-1 if offset is None else offset, without_golden=without_golden)
    return await _checked_send(board, subscriber, options, command)


async def skip(
    board: BoardContext, subscriber: str, offset: int | None = None, **options: Unpack[CommandOptions]
) -> CommandResult:
    """Have the subscriber skip one package for good, or dismiss one that it gave up.

    Args:
        board: the open board.
        subscriber: it must be editable, unless the package was given up, so that skipping changes nothing.
        offset: the package; the one at the head of the subscriber's queue if not given.
        **options: see ``CommandOptions``.

    Raises:
        RequestRefused: no such subscriber, or its queue has no head.
        LogUnavailable: the command could not be appended.
    """
    options = commanded(options)
    if offset is not None:
        asked(offset=offset)
    else:
        asked(subscriber=subscriber)
        offset = await _head(board, subscriber, options.get("timeout_s", ANSWER_S))
        if offset < 0:
            message = f"nothing is known to be at the head of the queue of {subscriber!r}; say which offset to skip"
            raise RequestRefused(message, code="empty")
    return await _checked_send(board, subscriber, options, SkipCommand(offset=offset))


async def _head(board: BoardContext, subscriber: str, timeout_s: float) -> int:
    """The offset of the package at the head of its queue; -1 if there is none."""
    if SEPARATOR not in subscriber:
        return (await member(board, subscriber, timeout_s)).announcement.head_offset
    view = await across(queue)(board, subscriber, limit=1, timeout_s=timeout_s)
    return view.items[0].offset if view.items else -1


async def pause(board: BoardContext, subscriber: str, **options: Unpack[CommandOptions]) -> CommandResult:
    """Have the subscriber import nothing until ``resume``, even after a restart. Raises as ``retry``."""
    return await _checked_send(board, subscriber, options, PauseCommand())


async def resume(board: BoardContext, subscriber: str, **options: Unpack[CommandOptions]) -> CommandResult:
    """Have a paused subscriber continue. Raises as ``retry``."""
    return await _checked_send(board, subscriber, options, ResumeCommand())


async def throttle(
    board: BoardContext, subscriber: str, packages_per_min: int, **options: Unpack[CommandOptions]
) -> CommandResult:
    """Limit the subscriber to this many packages a minute, even after a restart; 0 lifts the limit.

    Raises as ``retry``.
    """
    asked(packages_per_min=packages_per_min)
    return await _checked_send(board, subscriber, options, ThrottleCommand(packages_per_min=packages_per_min))


async def list_content(
    board: BoardContext, subscriber: str, paths: tuple[str, ...] = (), **options: Unpack[CommandOptions]
) -> CommandResult:
    """Have the subscriber list its repository's content at and below these paths, or all of it, between imports.

    Raises as ``retry``. The result refers to a blob with the list, and has the position that the list belongs to.
    """
    return await _checked_send(board, subscriber, options, VerifyCommand(paths=asked(paths=paths)["paths"]))


async def send(
    board: BoardContext,
    agent: Agent,
    subscriber: str,
    target: Member | None,
    command: Command,
    options: CommandOptions,
    publisher: str = "",
) -> CommandResult:
    """Append the command, and wait for the result if the subscriber is there to give one."""
    log_id, said = await board.log.identity(board.topics.package), target and as_reader(target).announcement
    timeout_s = options.get("timeout_s", ANSWER_S)
    unnamed = CommandMessage(
        subscriber_instance=said.subscriber_instance if said else "",
        subscriber=subscriber,
        publisher=publisher,
        command_id=board.new_id(),
        author=options.get("author") or current_user(),
        reason=options.get("reason", ""),
        log_id=log_id,
        issued_ns=board.now_ns(),
        position=position(said, log_id) if said else -1,
    )
    message = replaced(unnamed, **{NAMES[type(command)]: command})
    sent = await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=message), timeout_s)
    if sent.problem:
        raise LogUnavailable(sent.problem)
    if target is None or target.liveness in (Liveness.STOPPED, Liveness.GONE):
        site, _, name = subscriber.partition(SEPARATOR)
        absent = "was never heard of" if target is None else f"is {target.liveness.name.lower()}"
        then = "" if target is None else ", unless with another repository"
        gets = f"passes the command on to {name}" if name else "gets the command"
        return _result(message, command, None, f"{site} {absent}; it {gets} when it starts{then}")
    try:
        answer = await agent.ask(roles.COMMAND_SENDER, CommandResultQuery(command_id=message.command_id), timeout_s)
    except NotAnswered:
        return _result(message, command, None, await _unanswered(agent, message, timeout_s))
    return _result(message, command, answer, answer.reason)


async def _checked_send(
    board: BoardContext, subscriber: str, options: CommandOptions, command: Command
) -> CommandResult:
    asked(subscriber=subscriber)
    options = commanded(options)
    agent = await board.viewer()
    log_id = await log_identity(board.log, board.topics.package)
    fleet = await members(agent, log_id, options.get("timeout_s", ANSWER_S))
    known = {each.announcement.subscriber: each for each in fleet}
    target = relay_of(fleet, subscriber) if SEPARATOR in subscriber else known.get(subscriber)
    can_wait = isinstance(command, PauseCommand | ThrottleCommand) and not board.settings.trusted_keys
    if target is None and not (can_wait and options.get("force", False)):
        then = " With --force, the command waits for it to start" if can_wait else ""
        raise unknown("subscriber", subscriber, known, then)
    return await send(board, agent, subscriber, target, command, options)


async def _unanswered(agent: Agent, message: CommandMessage, timeout_s: float) -> str:
    """Why there is no answer, if known: another repository may have taken the name, so that nothing can answer."""
    known: dict[str, DiscoveryMessage] = {}
    with suppress(NotAnswered):
        known = {each.announcement.subscriber: each.announcement for each in await members(agent, "", timeout_s)}
    now = known.get(name := site_of(message.subscriber))
    if now is not None and now.subscriber_instance != message.subscriber_instance:
        return f"{name} has another repository now, which ignores the command; see `callboard status`"
    return f"{message.subscriber} has not answered within {timeout_s:g} s; the command stands"


def _result(
    message: CommandMessage, command: Command, answer: CommandResultMessage | None, reason: str
) -> CommandResult:
    return CommandResult(
        command_id=message.command_id,
        command=NAMES[type(command)],
        subscriber=message.subscriber,
        publisher=message.publisher,
        offset=command.offset if isinstance(command, ClearCommand | RetryCommand | SkipCommand) else -1,
        accepted=answer.accepted if answer else None,
        packages=answer.packages if answer else -1,
        reason=reason,
        position=answer.offset if answer else -1,
        listing_ref=answer.listing_ref if answer else "",
    )
