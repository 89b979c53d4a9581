"""Orders to subscribers: put on the log, and awaited until the subscriber has said what they came to.

Each is a record with its author and reason, for the subscriber's repository as it was last heard of: a new one under
the same name does not obey it. That one obeys it once, in the order of the log, also after a restart, and answers it,
if only to refuse.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import TypedDict, Unpack

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.fleet.following import position
from callboard.board.connect.user import current_user
from callboard.board.context import BoardContext
from callboard.board.read.questions import member
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.read.status.status import members
from callboard.board.views import CommandResult
from callboard.door.limits import ANSWER_S
from callboard.door.names import unknown
from callboard.door.questions import asked, commanded
from callboard.errors import LogUnavailable, NotAnswered, RequestRefused
from callboard.messages.distribution.mailbox import CommandRequest, Liveness, Member
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import (
    ORDERS,
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

Order = (
    ClearCommand | RetryCommand | SkipCommand | PauseCommand | ResumeCommand | ThrottleCommand | VerifyCommand
)
NAMES: Mapping[type, str] = {kind: name for name, kind in ORDERS.items()}


class CommandOptions(TypedDict, total=False):
    """What can be said with every order.

    ``reason`` is for the record, and so is ``author``, the user of this process if not given. With ``force`` a pause
    or a limit can be given to a subscriber that was never heard of; whoever comes first under that name obeys it. On a
    board with ``trusted_keys`` there is no such order: it would hold for a repository that is made long after it.
    ``timeout_s`` is how long to wait until the subscriber has answered; the order stands in any case.
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
    """Have the subscriber try again now, whatever it waits for.

    Args:
        board: the open board.
        subscriber: its name.
        offset: a package that was set aside or given up; the one at the head of the queue if not given.
        without_golden: import the one at the head although the golden subscriber's verdict on it is missing.
        **options: see ``CommandOptions``.

    Raises:
        RequestRefused: no such subscriber, or an offset that there cannot be.
        LogUnavailable: the order could not be appended.
    """
    asked(without_golden=without_golden)
    if offset is not None:
        asked(offset=offset)
    order = RetryCommand(offset=-1 if offset is None else offset, without_golden=without_golden)
    return await _order(board, subscriber, options, order)


async def skip(
    board: BoardContext, subscriber: str, offset: int | None = None, **options: Unpack[CommandOptions]
) -> CommandResult:
    """Have the subscriber pass over one package for good, or dismiss one that it gave up.

    Args:
        board: the open board.
        subscriber: it must be editable, unless the package was given up and nothing changes by that.
        offset: the package; the one that the subscriber says is at the head of its queue if not given.
        **options: see ``CommandOptions``.

    Raises:
        RequestRefused: no such subscriber, or none at the head of its queue.
        LogUnavailable: the order could not be appended.
    """
    options = commanded(options)
    if offset is not None:
        asked(offset=offset)
    else:
        asked(subscriber=subscriber)
        timeout_s = options.get("timeout_s", ANSWER_S)
        said = (await member(board, subscriber, timeout_s)).announcement
        if said.head_offset < 0:
            message = f"nothing is at the head of the queue of {subscriber!r}; say which offset to skip"
            raise RequestRefused(message, code="empty")
        offset = said.head_offset
    return await _order(board, subscriber, options, SkipCommand(offset=offset))


async def pause(board: BoardContext, subscriber: str, **options: Unpack[CommandOptions]) -> CommandResult:
    """Have the subscriber import nothing until ``resume``, also after a restart. Raises as ``retry``."""
    return await _order(board, subscriber, options, PauseCommand())


async def resume(board: BoardContext, subscriber: str, **options: Unpack[CommandOptions]) -> CommandResult:
    """Have a paused subscriber go on. Raises as ``retry``."""
    return await _order(board, subscriber, options, ResumeCommand())


async def throttle(
    board: BoardContext, subscriber: str, packages_per_min: int, **options: Unpack[CommandOptions]
) -> CommandResult:
    """Have the subscriber import no more packages a minute than this, also after a restart; 0 lifts the limit.

    Raises as ``retry``.
    """
    asked(packages_per_min=packages_per_min)
    return await _order(board, subscriber, options, ThrottleCommand(packages_per_min=packages_per_min))


async def list_content(
    board: BoardContext, subscriber: str, paths: tuple[str, ...] = (), **options: Unpack[CommandOptions]
) -> CommandResult:
    """Have the subscriber list what its repository holds at and below these paths, or all of it, between imports.

    Raises as ``retry``. The result names the list, a blob, and the position that the content belongs to.
    """
    return await _order(board, subscriber, options, VerifyCommand(paths=asked(paths=paths)["paths"]))


async def give(
    board: BoardContext,
    agent: Agent,
    subscriber: str,
    target: Member | None,
    order: Order,
    options: CommandOptions,
    publisher: str = "",
) -> CommandResult:
    """Put the order on the log, and wait for the result if the subscriber is there to give one."""
    log_id, said = await board.log.identity(board.topics.package), target and target.announcement
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
    command = replaced(unnamed, **{NAMES[type(order)]: order})
    sent = await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), timeout_s)
    if sent.problem:
        raise LogUnavailable(sent.problem)
    if target is None or target.liveness in (Liveness.STOPPED, Liveness.GONE):
        absent = "was never heard of" if target is None else f"is {target.liveness.name.lower()}"
        then = "" if target is None else ", unless with another repository"
        return _result(command, order, None, f"{subscriber} {absent}; it is told when it comes{then}")
    try:
        told = await agent.ask(roles.COMMAND_SENDER, CommandResultQuery(command_id=command.command_id), timeout_s)
    except NotAnswered:
        return _result(command, order, None, await _unanswered(agent, command, timeout_s))
    return _result(command, order, told, told.reason)


async def _order(board: BoardContext, subscriber: str, options: CommandOptions, order: Order) -> CommandResult:
    asked(subscriber=subscriber)
    options = commanded(options)
    agent = await board.viewer()
    log_id = await log_identity(board.log, board.topics.package)
    fleet = await members(agent, log_id, options.get("timeout_s", ANSWER_S))
    known = {each.announcement.subscriber: each for each in fleet}
    target = known.get(subscriber)
    can_wait = isinstance(order, PauseCommand | ThrottleCommand) and not board.settings.trusted_keys
    if target is None and not (can_wait and options.get("force", False)):
        then = " With force it is told all the same, when it comes" if can_wait else ""
        raise unknown("subscriber", subscriber, known, then)
    return await give(board, agent, subscriber, target, order, options)


async def _unanswered(agent: Agent, command: CommandMessage, timeout_s: float) -> str:
    """Why there is no answer, as far as can be told: nobody is left to obey, if another repository has the name."""
    known: dict[str, DiscoveryMessage] = {}
    with suppress(NotAnswered):
        known = {each.announcement.subscriber: each.announcement for each in await members(agent, "", timeout_s)}
    now = known.get(command.subscriber)
    if now is not None and now.subscriber_instance != command.subscriber_instance:
        return f"{command.subscriber} has another repository now, for which the order is void; see `callboard status`"
    return f"{command.subscriber} has not answered within {timeout_s:g} s; the order stands"


def _result(command: CommandMessage, order: Order, told: CommandResultMessage | None, reason: str) -> CommandResult:
    return CommandResult(
        command_id=command.command_id,
        order=NAMES[type(order)],
        subscriber=command.subscriber,
        publisher=command.publisher,
        offset=order.offset if isinstance(order, ClearCommand | RetryCommand | SkipCommand) else -1,
        accepted=told.accepted if told else None,
        packages=told.packages if told else -1,
        reason=reason,
        position=told.offset if told else -1,
        listing_ref=told.listing_ref if told else "",
    )
