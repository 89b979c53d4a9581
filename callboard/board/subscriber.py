"""A subscriber, as the embedding service sees it."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from callboard.actors.core.agent import Agent
from callboard.actors.subscriber import SubscriberSettings, roles
from callboard.board.connect.functions.cancelled_body import CancelledBody
from callboard.board.connect.opening import repository_place
from callboard.board.connect.publisher_agent import unreadable
from callboard.board.connect.subscriber_options import DRAIN_S, subscriber_settings
from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_others, demand_start
from callboard.door.questions import asked
from callboard.errors import CallboardError, LogUnavailable, NotAllImported, NotAnswered, NotImported, SubscriberStuck
from callboard.escaping import escaped
from callboard.messages.distribution.mailbox import (
    AnnouncedQuery,
    CaughtUpQuery,
    ReadyQuery,
    ReportQuery,
    Unfinished,
)
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State
from callboard.version import __version__

ADMISSION_S = 15.0
"""Seconds that a start waits for the repository and the name: longer than a held repository is retried."""
STANDBY_S = 1.0
"""The same for a standby: long enough to learn of errors that waiting does not cure."""
ANYWHERE = -(1 << 62)
"""A question for the announcement of this offset is answered with the first announcement that counts."""
LOOK_S = 10.0
"""Seconds: the importer reports between two effects."""
FOREVER_S = 1e9
"""Seconds, for a question without a deadline: it ends with the agent at the latest."""


Run = Callable[[SubscriberSettings], Awaitable[Agent]]
"""Starts the agent of a subscriber with these settings."""

STATUSES = {
    "given_up": "was given up",
    "held": "is held",
    "hook_due": "is imported, but its hook has not succeeded yet",
    "hook_failed": "is imported, but its hook was given up",
}


class Subscriber:
    """Imports packages into its repository from ``start`` to ``stop``, or inside ``async with``.

    If it ends because of an error, the body of ``async with`` is cancelled and the error is raised from there. To
    avoid the cancellation, use ``start``, ``stop`` and ``ended``.
    """

    def __init__(
        self, board: BoardContext, settings: SubscriberSettings, given: Mapping[str, Any], run: Run | None = None
    ) -> None:
        self.name = settings.name
        self._board = board
        self._settings = settings
        self._drain_s: float = given.get("stop_drain_s", DRAIN_S)
        self._expect: bool = given.get("expect", False)
        self._run = run or board.agents.subscriber
        self._agent: Agent | None = None
        self._starting = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._body: CancelledBody | None = None
        self._ready = ""
        self._latest: Agent | None = None

    async def start(self) -> Agent:
        """Start the agent, and wait until it has its repository and its name; takes milliseconds if both are free.

        Returns earlier for a standby; and after ``ADMISSION_S`` seconds if the log does not answer, or if the
        repository has moved and may still be in use at its former place. ``report`` then says what the subscriber waits
        for.

        Raises:
            SubscriberTaken: another instance runs under this name.
            RepositoryBusy: another process has the repository open.
            RepositoryOccupied: it holds content that callboard did not put there.
            RepositoryUnavailable: it cannot be opened or written.
            ConfigError: an option, a hook or the repository's URL cannot work.
            RequestRefused: it follows, or waits for, a name that is not known, without ``expect``; or it would start
                beyond the end of the log.
            CallboardError: what ended it before; call ``stop``, then ``start`` again.
        """
        async with self._starting:  # several callers may start it at once
            if self._agent is not None and self._agent.has_ended:
                await self._agent.ended()
                self._agent = None  # the board was closed, and may have been reopened
            if self._agent is None:
                await self._check_names()
                agent = self._agent = self._latest = await self._run(replace(self._settings, ready_reason=self._ready))
                self._watch = asyncio.create_task(self._watch_readiness(agent))
                self._watch.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # for a waiter
                try:
                    await self._until_admitted(agent)
                except BaseException:
                    await self.stop()
                    raise
                return agent
            return self._agent

    async def _until_admitted(self, agent: Agent) -> None:
        wait_s = STANDBY_S if self._settings.standby else ADMISSION_S
        try:
            await agent.ask(roles.ANNOUNCER, AnnouncedQuery(offset=ANYWHERE), wait_s)
        except NotAnswered:
            if agent.has_ended:  # stopped by another caller, who did not wait
                raise

    async def _check_names(self) -> None:
        its, log = self._settings, self._board.log
        with suppress(LogUnavailable):  # no reason not to start: the agent waits for the log
            await demand_start(log, its.topics, its.start)
            if not self._expect:
                await demand_others(log, its.topics, its.name, its.follows, its.golden)

    async def stop(self, drain_s: float | None = None) -> None:
        """Finish the running import, announce the end, and stop. Idempotent.

        ``drain_s`` is the time for the import in seconds, ``stop_drain_s`` if not given. Unfinished work is then
        cancelled; a transaction that has begun is committed or rolled back before the repository is released.
        """
        asked(drain_s=drain_s)
        if self._agent is not None:
            await self._agent.stop(self._drain_s if drain_s is None else drain_s)
            self._agent = None

    async def caught_up(self, timeout_s: float = 60.0) -> None:
        """Wait until every package now on the log is imported, its hook called, and this announced.

        Raises:
            NotAllImported: all packages are processed, but some were given up or quarantined, or have a failed hook; it
                waits for a hook until its third call.
            SubscriberStuck: it is blocked, paused, or at a gap, and needs an operator.
            NotAnswered: it takes longer than ``timeout_s`` seconds; the message says what it is doing.
            SubscriberTaken: another instance runs under this name.
            RepositoryBusy: another process has the repository open.
        """
        asked(timeout_s=timeout_s)
        agent = await self.start()
        try:
            answer = await agent.ask(roles.IMPORTER, CaughtUpQuery(), timeout_s)
        except NotAnswered as error:
            reason = f"{self.name} is not caught up within {timeout_s:g} s"
            if problem := await unreadable(self._board.log, (self._settings.topics.package,)):
                raise LogUnavailable(f"{reason}: {problem}") from error
            raise NotAnswered(f"{reason}: {await self._at(agent)}") from error
        said = answer.announcement
        if not answer.reached:
            raise SubscriberStuck(f"{self.name} {_stands(said)}")
        await agent.ask(roles.ANNOUNCER, AnnouncedQuery(offset=said.offset), timeout_s)
        if answer.unfinished:
            raise _not_all_imported(said, answer.unfinished)

    async def _at(self, agent: Agent) -> str:
        """What it is waiting for."""
        answer = await agent.ask(roles.IMPORTER, ReportQuery(), LOOK_S)
        return f"it {_stands(answer.announcement)}"

    async def report(self, timeout_s: float = 10.0) -> DiscoveryMessage:
        """The subscriber's current announcement. Raises as ``caught_up``."""
        asked(timeout_s=timeout_s)
        answer = await (await self.start()).ask(roles.IMPORTER, ReportQuery(), timeout_s)
        return answer.announcement

    @property
    def agent(self) -> Agent | None:
        """What runs it, from ``start`` to ``stop``."""
        return self._agent

    @property
    def ready(self) -> bool:
        """Whether it may serve. Once true it stays true, also after ``stop`` and ``start``."""
        return bool(self._ready)

    async def until_ready(self, timeout_s: float = FOREVER_S) -> str:
        """Wait until it may serve; returns the condition that was met: idle, latency, retries or forced.

        Raises:
            NotAnswered: it may not serve yet after ``timeout_s`` seconds, or was stopped.
            SubscriberTaken: another instance runs under this name.
            RepositoryBusy: another process has the repository open.
        """
        asked(timeout_s=timeout_s)
        await self.start()
        assert self._watch is not None
        done, _ = await asyncio.wait({self._watch}, timeout=timeout_s)
        if not done:
            raise NotAnswered(f"subscriber {self.name!r} is not ready after {timeout_s:g} s; its report says why")
        self._watch.result()
        return self._ready

    async def _watch_readiness(self, agent: Agent) -> None:
        answer = await agent.ask(roles.ANNOUNCER, ReadyQuery(), FOREVER_S)
        self._ready = answer.reason

    async def ended(self) -> None:
        """Wait until the subscriber has ended. Returns after ``stop``; otherwise raises the error that ended it."""
        await (self._latest or await self.start()).ended()

    async def leave(self, error: BaseException | None = None) -> None:
        """Stop, and raise the error that had ended it; if the body raised ``error``, add it there as a note instead."""
        agent = self._agent
        await self.stop()
        try:
            if agent is not None:
                await agent.ended()
        except CallboardError as problem:
            if error is None:
                raise
            if error is not problem:
                error.add_note(f"subscriber {self.name!r} had ended before: {problem}")

    async def __aenter__(self) -> Self:
        self._body = CancelledBody(await self.start())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        body, self._body = self._body, None
        instead = body.leave(error) if body is not None else None
        if instead is not None:
            await self.stop()
            raise instead
        await self.leave(error)


def settings_on(board: BoardContext, given: Mapping[str, Any], place: str, **more: Any) -> SubscriberSettings:
    """The settings of a subscriber or a relay with the options ``given``, which stores what it has at ``place``.

    Raises ``ConfigError`` if that overlaps the log, the blobs, the archive or what this board ships.
    """
    its, host = board.settings, socket.gethostname()
    board.territory.add_target(place)
    return subscriber_settings(
        given, topics=its.topics, repository=place, host=host, pid=os.getpid(), version=__version__,
        place=repository_place(place, its.base, host), shortening=its.shortening, signed=bool(its.trusted_keys), **more,
    )  # fmt: skip


def _stands(said: DiscoveryMessage) -> str:
    """The subscriber's position and state, and why."""
    state = "at a gap" if said.state is State.GAP else said.state.name.lower()
    return f"is {state} after offset {said.offset}: {escaped(said.reason) or 'it gave no reason'}"


def _not_all_imported(said: DiscoveryMessage, unfinished: tuple[Unfinished, ...]) -> NotAllImported:
    left = tuple(
        NotImported(each.what, each.offset, each.publisher, each.package_id, each.attempts, each.reason)
        for each in unfinished
    )
    lines = [
        f"offset {each.offset} of {escaped(each.publisher)} {STATUSES[each.status]}"
        + (f": {escaped(each.reason)}" if each.reason else "")
        for each in left
    ]
    heading = f"{said.subscriber} has processed everything up to offset {said.offset}, but not finished all of it:"
    remedy = "`callboard status` shows what helps"
    return NotAllImported("\n".join((heading, *lines, remedy)), left)
