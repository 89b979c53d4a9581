"""Orders to subscribers: put on the log, and awaited until the subscriber has said what they came to."""

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from typing import Any, TypedDict, Unpack

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.queues import newest_queued, queued_at
from callboard.app.settings import BoardSettings
from callboard.app.status import log_end, member, members
from callboard.app.user import current_user
from callboard.app.views import CommandResult
from callboard.backends.log import Log
from callboard.errors import LogUnavailable, NotAnswered, RequestRefused
from callboard.messages.distribution import (
    ClearCommand,
    CommandMessage,
    CommandResultMessage,
    PauseCommand,
    ResumeCommand,
    RetryCommand,
    SkipCommand,
    ThrottleCommand,
    VerifyCommand,
)
from callboard.messages.mailbox import CommandRequest, CommandSent, Liveness, Member
from callboard.messages.publisher_mail import CommandResultQuery
from callboard.messages.signing import CommandKey, signed

ANSWER_S = 30.0
"""How long a subscriber may take to obey; the order stands in any case."""

ORDERS_AT_ONCE = 500
"""Of a clear of all: half of what the command sender takes, so that there is room for others."""

OFFSET_MAX = (1 << 63) - 1
"""No log has a greater offset."""


class OrderOptions(TypedDict, total=False):
    """What can be said with every order.

    ``reason`` is for the record, and so is ``author``, the user of this process if not given. With ``force`` it is
    given to a subscriber that was never heard of, too. ``timeout_s`` is how long to wait until the subscriber has
    answered; the order stands in any case.
    """

    reason: str
    author: str
    force: bool
    timeout_s: float


class Commanding(ABC):
    """The orders that a board can give. Each is a record on the log with its author and reason, obeyed in the order of
    the log, once, also after a restart of the subscriber; and each is answered by it, be it that it refuses.
    """

    settings: BoardSettings
    command_key: CommandKey | None = None
    """Signs the orders, for subscribers that demand it."""

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
            up_to: the last offset to clear. What is set aside up to there is cleared, too, and counted.
            first: how many packages to clear from the head of the queue, beside all that is set aside, which lies
                before it; without both, the whole queue as it is now.
            reason: for the record.
            author: for the record; the user of this process if not given.
            timeout_s: how long to wait until the subscriber has obeyed; the order stands in any case.

        Raises:
            RequestRefused: no such subscriber, not an editable one, or nothing to clear.
            LogUnavailable: the order could not be appended.
            NotAnswered: the queue is long, and could not be counted within ``timeout_s``; nothing was ordered.
        """
        agent = await self.viewer()
        target, end = await asyncio.gather(member(agent, subscriber, timeout_s), self._log_end())
        if not target.announcement.configuration.editable:
            raise RequestRefused(
                f"subscriber {subscriber!r} is not editable, so its queue cannot be cleared; start it with "
                "editable = true"
            )
        (newest,) = await newest_queued(agent, [target], publisher, end, timeout_s)
        offset = _last_offset(target, newest, up_to, first)
        if first is not None:
            at = await queued_at(agent, target, publisher, first - 1, end, timeout_s)
            offset = offset if at is None else at
        return await self._clear(agent, target, offset, publisher, timeout_s, reason=reason, author=author)

    async def clear_all(
        self, publisher: str = "", *, reason: str = "", author: str = "", timeout_s: float = ANSWER_S
    ) -> tuple[CommandResult, ...]:
        """Clear the queue of every editable subscriber that has one and is not gone; what each came to, by name.

        Arguments and errors as for ``clear``. A subscriber with an empty queue is left out.
        """
        agent = await self.viewer()
        known, end = await asyncio.gather(members(agent, timeout_s), self._log_end())
        fleet = [
            each
            for each in known
            if each.announcement.configuration.editable
            and each.liveness is not Liveness.GONE
            and publisher in ("", *(each.announcement.configuration.follows or (publisher,)))
        ]
        newest = await newest_queued(agent, fleet, publisher, end, timeout_s)
        turns = asyncio.Semaphore(ORDERS_AT_ONCE)

        async def order(target: Member, offset: int) -> CommandResult:
            async with turns:
                return await self._clear(agent, target, offset, publisher, timeout_s, reason=reason, author=author)

        clears = zip(fleet, newest, strict=True)
        orders = [asyncio.create_task(order(target, offset)) for target, offset in clears if offset >= 0]
        try:
            return tuple(await asyncio.gather(*orders))
        finally:
            for each in orders:
                each.cancel()  # when one has failed, the others are not given any more

    async def retry(
        self,
        subscriber: str,
        offset: int | None = None,
        *,
        without_golden: bool = False,
        **options: Unpack[OrderOptions],
    ) -> CommandResult:
        """Have the subscriber try again now, whatever it waits for.

        Args:
            subscriber: its name.
            offset: a package that was set aside or given up; the one at the head of the queue if not given.
            without_golden: import the one at the head although the golden subscriber's verdict on it is missing.
            **options: see ``OrderOptions``.

        Raises:
            RequestRefused: no such subscriber, or an offset that there cannot be.
            LogUnavailable: the order could not be appended.
        """
        order = RetryCommand(offset=-1 if offset is None else _checked(offset), without_golden=without_golden)
        return await self._order(subscriber, options, retry=order)

    async def skip(
        self, subscriber: str, offset: int | None = None, **options: Unpack[OrderOptions]
    ) -> CommandResult:
        """Have the subscriber pass over one package for good, or dismiss one that it gave up.

        Args:
            subscriber: it must be editable, unless the package was given up and nothing changes by that.
            offset: the package; the one that the subscriber says is at the head of its queue if not given.
            **options: see ``OrderOptions``.

        Raises:
            RequestRefused: no such subscriber, or none at the head of its queue.
            LogUnavailable: the order could not be appended.
        """
        if offset is None:
            timeout_s = options.get("timeout_s", ANSWER_S)
            said = (await member(await self.viewer(), subscriber, timeout_s)).announcement
            if said.head_offset < 0:
                raise RequestRefused(f"nothing is at the head of the queue of {subscriber!r}; say which offset to skip")
            offset = said.head_offset
        return await self._order(subscriber, options, skip=SkipCommand(offset=_checked(offset)))

    async def pause(self, subscriber: str, **options: Unpack[OrderOptions]) -> CommandResult:
        """Have the subscriber import nothing until ``resume``, also after a restart. Raises as ``retry``."""
        return await self._order(subscriber, options, pause=PauseCommand())

    async def resume(self, subscriber: str, **options: Unpack[OrderOptions]) -> CommandResult:
        """Have a paused subscriber go on. Raises as ``retry``."""
        return await self._order(subscriber, options, resume=ResumeCommand())

    async def throttle(
        self, subscriber: str, packages_per_min: int, **options: Unpack[OrderOptions]
    ) -> CommandResult:
        """Have the subscriber import no more packages a minute than this, also after a restart; 0 lifts the limit.

        Raises as ``retry``.
        """
        if packages_per_min < 0:
            raise RequestRefused(f"{packages_per_min} packages a minute is no limit; the least is 0, which is none")
        return await self._order(subscriber, options, throttle=ThrottleCommand(packages_per_min=packages_per_min))

    async def list_content(
        self, subscriber: str, paths: tuple[str, ...] = (), **options: Unpack[OrderOptions]
    ) -> CommandResult:
        """Have the subscriber list what its repository holds at and below these paths, or all of it, between imports.

        Raises as ``retry``. The result names the list, a blob, and the position that the content belongs to.
        """
        return await self._order(subscriber, options, verify=VerifyCommand(paths=paths))

    async def _log_end(self) -> int:
        return await log_end(self.log, self.settings.topics.package)

    async def _clear(
        self, agent: Agent, target: Member, offset: int, publisher: str, timeout_s: float, **texts: str
    ) -> CommandResult:
        orders = {"clear": ClearCommand(offset=offset), "publisher": publisher}
        return await self._command(agent, target.announcement.subscriber, target, timeout_s, **orders, **texts)

    async def _order(self, subscriber: str, options: OrderOptions, **order: Any) -> CommandResult:
        agent, timeout_s = await self.viewer(), options.get("timeout_s", ANSWER_S)
        known = {each.announcement.subscriber: each for each in await members(agent, timeout_s)}
        target = known.get(subscriber)
        if target is None and not options.get("force", False):
            names = ", ".join(sorted(known)) or "none yet"
            raise RequestRefused(
                f"no subscriber {subscriber!r} was ever heard of on this log; known: {names}. With force it is told "
                "all the same, when it comes"
            )
        texts = {"reason": options.get("reason", ""), "author": options.get("author", "")}
        return await self._command(agent, subscriber, target, timeout_s, **order, **texts)

    async def _command(
        self, agent: Agent, subscriber: str, target: Member | None, timeout_s: float, **fields: Any
    ) -> CommandResult:
        """Put the order on the log, and wait for the result if the subscriber is there to give one."""
        command = CommandMessage(
            subscriber_instance="",
            subscriber=subscriber,
            command_id=secrets.token_hex(16),
            log_id=await self.log.identity(self.settings.topics.package),
            issued_ns=time.time_ns(),
            **(fields | {"author": fields["author"] or current_user()}),
        )
        if self.command_key is not None:
            command = signed(command, self.command_key)
        sent = await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), timeout_s)
        assert isinstance(sent, CommandSent)
        if sent.problem:
            raise LogUnavailable(sent.problem)
        if target is None or target.liveness in (Liveness.STOPPED, Liveness.GONE):
            absent = "was never heard of" if target is None else f"is {target.liveness.name.lower()}"
            return _result(command, None, f"{subscriber} {absent}; it is told when it comes")
        try:
            told = await agent.ask(roles.COMMAND_SENDER, CommandResultQuery(command_id=command.command_id), timeout_s)
        except NotAnswered:
            return _result(command, None, f"{subscriber} has not answered within {timeout_s:g} s; the order stands")
        assert isinstance(told, CommandResultMessage)
        return _result(command, told, told.reason)


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


def _checked(offset: int) -> int:
    if not 0 <= offset <= OFFSET_MAX:
        raise RequestRefused(f"{offset} is no offset; `callboard queue` and `callboard errors` show those there are")
    return offset


def _last_offset(target: Member, newest: int, up_to: int | None, first: int | None) -> int:
    """The offset to clear up to, which must be in the queue, whose newest is given."""
    said = target.announcement
    if first is not None and first < 1:
        raise RequestRefused(f"cannot clear the first {first} packages; the least is 1")
    if newest < 0 and first is None and said.held:
        newest = said.offset  # what is set aside is cleared as well
    if newest < 0:
        raise RequestRefused(f"the queue of {said.subscriber!r} is empty; there is nothing to clear")
    if up_to is not None and up_to > newest:
        raise RequestRefused(f"offset {up_to} is beyond the queue, which ends at {newest}")
    return newest if up_to is None or first is not None else up_to
