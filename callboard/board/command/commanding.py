"""Orders to subscribers: put on the log, and awaited until the subscriber has said what they came to."""

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.actors.publisher.fleet.following import counts, is_elsewhere, position
from callboard.backends.log import Bounds, Log
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.user import current_user
from callboard.board.read.known_names import demand_publisher
from callboard.board.read.queues.queue_sizes import log_bounds, log_identity
from callboard.board.read.queues.queues import newest_queued, queued_at
from callboard.board.read.status.status import member, members
from callboard.board.views import CommandResult
from callboard.door.limits import OFFSET_MAX
from callboard.door.names import unknown
from callboard.door.questions import asked, commanded
from callboard.errors import LogUnavailable, NotAnswered, RequestRefused
from callboard.messages.distribution.mailbox import CommandRequest, CommandSent, Liveness, Member
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import (
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

ANSWER_S = 30.0
"""How long a subscriber may take to obey; the order stands in any case."""

ORDERS_AT_ONCE = 500
"""Of a clear of all, and of questions for it: half of what is taken at once, so that there is room for others."""


T = TypeVar("T")


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


class Commanding(ABC):
    """The orders that a board can give. Each is a record on the log with its author and reason, for the subscriber's
    repository as it was last heard of: a new one under the same name does not obey it. That one obeys it once, in the
    order of the log, also after a restart, and answers it, if only to refuse.
    """

    settings: BoardSettings

    @property
    @abstractmethod
    def log(self) -> Log:
        """The open log."""

    @abstractmethod
    async def viewer(self) -> Agent:
        """An agent that can be asked about the board."""

    async def clear(
        self,
        subscriber: str,
        publisher: str = "",
        *,
        up_to: int | None = None,
        first: int | None = None,
        reason: str = "",
        author: str = "",
        timeout_s: float = ANSWER_S,
    ) -> CommandResult:
        """Have the subscriber treat queued packages as done, without importing them.

        Args:
            subscriber: it must be editable, for otherwise it would silently differ from the others.
            publisher: only this one's packages; all if not given.
            up_to: the last offset to clear, from 0 on. What is set aside up to there is cleared, too, and counted.
            first: how many packages, at least 1, to clear from the head of the queue, beside all that is set aside,
                which lies before it; without both, the whole queue as it is now.
            reason: for the record.
            author: for the record; the user of this process if not given.
            timeout_s: how long to wait until the subscriber has obeyed; the order stands in any case.

        Raises:
            RequestRefused: no such subscriber, not an editable one, or nothing to clear.
            LogUnavailable: the order could not be appended.
            NotAnswered: the queue is long, and could not be counted within ``timeout_s``; nothing was ordered.
        """
        asked(subscriber=subscriber, publisher=publisher, up_to=up_to, first=first)
        asked(reason=reason, author=author, timeout_s=timeout_s)
        if up_to is not None and first is not None:
            raise RequestRefused("up_to and first both say how much to clear; give one of them")
        await demand_publisher(self.log, self.settings.topics, publisher)
        agent = await self.viewer()
        log_id = await self._log_id()
        target, bounds = await asyncio.gather(member(agent, subscriber, log_id, timeout_s), self._bounds())
        if not target.announcement.configuration.editable:
            raise RequestRefused(
                f"subscriber {subscriber!r} is not editable, so its queue cannot be cleared; start it with "
                "editable = true"
            )
        if is_elsewhere(target.announcement, log_id):
            raise RequestRefused(f"the queue of {subscriber!r} cannot be cleared: {target.announcement.reason}")
        (newest,) = await newest_queued(agent, [target], publisher, bounds, timeout_s)
        offset = _last_offset(target, newest, up_to, first)
        if first is not None:
            at = await queued_at(agent, target, publisher, first - 1, bounds, timeout_s)
            offset = offset if at is None else at
        return await self._clear(agent, target, offset, publisher, timeout_s, reason=reason, author=author)

    async def clear_all(
        self,
        publisher: str = "",
        *,
        first: int | None = None,
        reason: str = "",
        author: str = "",
        timeout_s: float = ANSWER_S,
    ) -> tuple[CommandResult, ...]:
        """Clear the queue of every editable subscriber that has one and is not gone; what each came to, by name.

        With ``first`` only so many packages of the farm's queue (``callboard queue --farm persisted``): all are cleared
        up to the same offset, which is so many packages for the slowest, and fewer or none for those ahead of it.
        Nobody passes over more. Only those that count are told: not those that have stopped.

        Other arguments and errors as for ``clear``. A subscriber with nothing to clear is left out.
        """
        asked(publisher=publisher, first=first, reason=reason, author=author, timeout_s=timeout_s)
        await demand_publisher(self.log, self.settings.topics, publisher)
        agent = await self.viewer()
        log_id = await self._log_id()
        known, bounds = await asyncio.gather(members(agent, log_id, timeout_s), self._bounds())
        fleet = [
            each
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
                (target, min(offset, last))  # nobody passes over more, whatever else is in its own queue
                for (target, offset), head in zip(clears, heads, strict=True)
                if head is not None and head <= last
            ]
        texts = {"reason": reason, "author": author}
        return await _few_at_once(
            partial(self._clear, agent, target, offset, publisher, timeout_s, **texts) for target, offset in clears
        )

    async def retry(
        self,
        subscriber: str,
        offset: int | None = None,
        *,
        without_golden: bool = False,
        **options: Unpack[CommandOptions],
    ) -> CommandResult:
        """Have the subscriber try again now, whatever it waits for.

        Args:
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
        return await self._order(subscriber, options, retry=order)

    async def skip(
        self, subscriber: str, offset: int | None = None, **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Have the subscriber pass over one package for good, or dismiss one that it gave up.

        Args:
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
            said = (await member(await self.viewer(), subscriber, await self._log_id(), timeout_s)).announcement
            if said.head_offset < 0:
                raise RequestRefused(f"nothing is at the head of the queue of {subscriber!r}; say which offset to skip")
            offset = said.head_offset
        return await self._order(subscriber, options, skip=SkipCommand(offset=offset))

    async def pause(self, subscriber: str, **options: Unpack[CommandOptions]) -> CommandResult:
        """Have the subscriber import nothing until ``resume``, also after a restart. Raises as ``retry``."""
        return await self._order(subscriber, options, pause=PauseCommand())

    async def resume(self, subscriber: str, **options: Unpack[CommandOptions]) -> CommandResult:
        """Have a paused subscriber go on. Raises as ``retry``."""
        return await self._order(subscriber, options, resume=ResumeCommand())

    async def throttle(
        self, subscriber: str, packages_per_min: int, **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Have the subscriber import no more packages a minute than this, also after a restart; 0 lifts the limit.

        Raises as ``retry``.
        """
        asked(packages_per_min=packages_per_min)
        return await self._order(subscriber, options, throttle=ThrottleCommand(packages_per_min=packages_per_min))

    async def list_content(
        self, subscriber: str, paths: tuple[str, ...] = (), **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Have the subscriber list what its repository holds at and below these paths, or all of it, between imports.

        Raises as ``retry``. The result names the list, a blob, and the position that the content belongs to.
        """
        return await self._order(subscriber, options, verify=VerifyCommand(paths=asked(paths=paths)["paths"]))

    async def _log_id(self) -> str:
        return await log_identity(self.log, self.settings.topics.package)

    async def _bounds(self) -> Bounds:
        return await log_bounds(self.log, self.settings.topics.package)

    async def _clear(
        self, agent: Agent, target: Member, offset: int, publisher: str, timeout_s: float, **texts: str
    ) -> CommandResult:
        orders = {"clear": ClearCommand(offset=offset), "publisher": publisher}
        return await self._command(agent, target.announcement.subscriber, target, timeout_s, **orders, **texts)

    async def _order(self, subscriber: str, options: CommandOptions, **order: Any) -> CommandResult:
        asked(subscriber=subscriber)
        options = commanded(options)
        agent, timeout_s = await self.viewer(), options.get("timeout_s", ANSWER_S)
        log_id = await self._log_id()
        known = {each.announcement.subscriber: each for each in await members(agent, log_id, timeout_s)}
        target = known.get(subscriber)
        can_wait = ("pause" in order or "throttle" in order) and not self.settings.trusted_keys
        if target is None and not (can_wait and options.get("force", False)):
            then = " With force it is told all the same, when it comes" if can_wait else ""
            raise unknown("subscriber", subscriber, known, then)
        texts = {"reason": options.get("reason", ""), "author": options.get("author", "")}
        return await self._command(agent, subscriber, target, timeout_s, **order, **texts)

    async def _command(
        self, agent: Agent, subscriber: str, target: Member | None, timeout_s: float, **fields: Any
    ) -> CommandResult:
        """Put the order on the log, and wait for the result if the subscriber is there to give one."""
        log_id, said = await self.log.identity(self.settings.topics.package), target and target.announcement
        command = CommandMessage(
            subscriber_instance=said.subscriber_instance if said else "",
            subscriber=subscriber,
            command_id=secrets.token_hex(16),
            log_id=log_id,
            issued_ns=time.time_ns(),
            position=position(said, log_id) if said else -1,
            **(fields | {"author": fields["author"] or current_user()}),
        )
        sent = await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), timeout_s)
        assert isinstance(sent, CommandSent)
        if sent.problem:
            raise LogUnavailable(sent.problem)
        if target is None or target.liveness in (Liveness.STOPPED, Liveness.GONE):
            absent = "was never heard of" if target is None else f"is {target.liveness.name.lower()}"
            then = "" if target is None else ", unless with another repository"
            return _result(command, None, f"{subscriber} {absent}; it is told when it comes{then}")
        try:
            told = await agent.ask(roles.COMMAND_SENDER, CommandResultQuery(command_id=command.command_id), timeout_s)
        except NotAnswered:
            return _result(command, None, await _unanswered(agent, command, timeout_s))
        assert isinstance(told, CommandResultMessage)
        return _result(command, told, told.reason)


async def _few_at_once(works: Iterable[Callable[[], Awaitable[T]]]) -> tuple[T, ...]:
    """What they come to, in their order; when one fails, those that have not begun do not."""
    turns = asyncio.Semaphore(ORDERS_AT_ONCE)

    async def in_turn(work: Callable[[], Awaitable[T]]) -> T:
        async with turns:
            return await work()

    tasks = [asyncio.create_task(in_turn(work)) for work in works]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


async def _unanswered(agent: Agent, command: CommandMessage, timeout_s: float) -> str:
    """Why there is no answer, as far as can be told: nobody is left to obey, if another repository has the name."""
    known: dict[str, DiscoveryMessage] = {}
    with suppress(NotAnswered):
        known = {each.announcement.subscriber: each.announcement for each in await members(agent, "", timeout_s)}
    now = known.get(command.subscriber)
    if now is not None and now.subscriber_instance != command.subscriber_instance:
        return f"{command.subscriber} has another repository now, for which the order is void; see `callboard status`"
    return f"{command.subscriber} has not answered within {timeout_s:g} s; the order stands"


def _result(command: CommandMessage, told: CommandResultMessage | None, reason: str) -> CommandResult:
    orders = ("clear", "retry", "skip", "pause", "resume", "throttle", "verify")
    order = next(name for name in orders if getattr(command, name))
    about = command.clear or command.retry or command.skip
    return CommandResult(
        command_id=command.command_id,
        order=order,
        subscriber=command.subscriber,
        publisher=command.publisher,
        offset=about.offset if about else -1,
        accepted=told.accepted if told else None,
        packages=told.packages if told else -1,
        reason=reason,
        position=told.offset if told else -1,
        listing_ref=told.listing_ref if told else "",
    )


def _last_offset(target: Member, newest: int, up_to: int | None, first: int | None) -> int:
    """The offset to clear up to, which must be in the queue, whose newest is given."""
    said = target.announcement
    if newest < 0 and first is None and said.held:
        newest = said.offset  # what is set aside is cleared as well
    if newest < 0:
        raise RequestRefused(f"the queue of {said.subscriber!r} is empty; there is nothing to clear")
    if up_to is not None and up_to > newest:
        raise RequestRefused(f"offset {up_to} is beyond the queue, which ends at {newest}")
    return newest if up_to is None or first is not None else up_to
