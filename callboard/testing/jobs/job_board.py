"""A board for the tests of services that add and run jobs."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Self

from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.jobs.worker.roles import DISPATCHER
from callboard.actors.runtime import start_agent
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.tail import SharedTail
from callboard.board.board import Callboard
from callboard.board.connect.agents import Agents
from callboard.board.connect.opening import world
from callboard.board.connect.resources import Resources
from callboard.board.context import BoardContext
from callboard.board.jobs.finding.templates import Template
from callboard.board.jobs.functions.handlers import Handlers
from callboard.board.jobs.functions.publishing import PUBLISH, publishing
from callboard.board.jobs.job import Job
from callboard.board.member.member import Member
from callboard.board.member.options import member_plan
from callboard.door import jobs as door
from callboard.door import members
from callboard.door.limits import DAYS_MAX
from callboard.door.rules import checked, instance_of, optional
from callboard.errors import ConfigError
from callboard.messages.jobs.job_state import JobState
from callboard.testing.durations import in_seconds
from callboard.testing.jobs.held_worker import Due, HeldDispatcher, HeldWorker
from callboard.testing.jobs.still_clock import StillClock

LEASE_S = 1800.0
"""Of the member that the worker is: a test may stand at a breakpoint."""


class JobBoard:
    """A board in memory, to be used in ``async with``, whose jobs run when the test says so, by a clock that the test
    moves. They are run by a real worker, by all the rules of jobs; nothing is left behind.

        async with JobBoard(jobs, now=datetime(2026, 1, 1)) as test:
            await order(test.board)
            assert await test.added("mail/send", {"to": "ann@example.org"})
            await test.run_jobs_inline()

    Args:
        functions: a ``JobRegistry``, or functions by topic, as ``board.jobs.worker`` takes them.
        now: what the clock shows in the beginning, in UTC if it has no zone; the present by default.
        slots: how many jobs run at a time; with one, they run one after another.
        tags: of the worker, for queues that demand some.
        job_context: see ``Callboard``.

    Raises:
        ConfigError: wrong arguments.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., object]],
        *,
        now: datetime | None = None,
        slots: int = 1,
        tags: Iterable[str] = (),
        job_context: tuple[str, ...] = (),
    ) -> None:
        door.worker(functions=functions, slots=slots)
        now = checked(ConfigError, {"now": optional(instance_of(datetime))}, {"now": now})["now"]
        self._clock = StillClock(now or datetime.now(UTC))
        log = partial(MemoryLog, self._clock.now_ns)
        settings = Callboard("memory:", job_context=job_context).settings
        self._resources = Resources(settings, lambda _: SharedTail(log()))
        context = BoardContext(self._resources, Agents(self._resources, start=self._start), self._clock.now_ns)
        its = members.options({"instance": "test", "tags": tags, "lease_s": LEASE_S})
        member = Member(context, member_plan(its, context))
        handlers = Handlers({PUBLISH: publishing(context), **functions})
        self._worker = HeldWorker(context, member, handlers, slots, 0.0, tags=its["tags"])
        self._is_held = True
        self._exit = AsyncExitStack()
        self.board = Callboard.on(context)
        """The board, for the service's code."""

    async def _start(self, spec: AgentSpec, settings: SubscriberSettings | None) -> Agent:
        async def shared_world() -> World:
            return world(self._resources.settings, self._resources.log, self._resources.blobs, settings)

        held = partial(HeldDispatcher, lambda: self._is_held)
        actors = tuple(replace(each, decision=held) if each.role == DISPATCHER else each for each in spec.actors)
        return await start_agent(replace(spec, actors=actors, world=shared_world), clock=self._clock)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self.board)
            await opened.enter_async_context(self._worker)
            self._due = Due(self.board.log, self.board.settings.prefix)
            await self._worker.wake()
            self._exit = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.__aexit__(kind, error, trace)

    @property
    def now(self) -> datetime:
        """What the clock shows, in UTC."""
        return datetime.fromtimestamp(self._clock.now_ms / 1000, UTC)

    async def added(self, topic: str, payload: Template | None = None) -> tuple[Job, ...]:
        """The jobs of a topic, or a pattern of topics, that were added, in their order, with what became of them.

        Args:
            topic: of the jobs.
            payload: what their payloads have, as in ``board.jobs.find``; everything by default.

        Raises:
            RequestRefused: wrong arguments.
        """
        jobs, found, after = self.board.jobs, list[Job](), -1
        while True:
            page = await jobs.find(
                tuple(JobState), topic=topic, where=payload or (), after=after, order="added", newest=False
            )
            found += filter(None, [await jobs.get(each.id) for each in page.items])
            if (after := page.after) < 0:
                return tuple(found)

    async def run_jobs_inline(self) -> tuple[Job, ...]:
        """Run all jobs that are due, also those that they add, until none is left. Returns them as they are then, in
        the order in which they ran.

        Raises:
            Exception: what a function raised, but for ``RetryJob`` and ``CancelJob``, when all have run; an
                ``ExceptionGroup`` if several did.
        """
        self._is_held = False
        try:
            await self._worker.wake()
            await self._due.until_none(lambda: self._clock.now_ms)
        finally:
            self._is_held = True
        return await self._worker.outcomes(self.board.jobs)

    async def advance(
        self, *, days: float = 0.0, hours: float = 0.0, minutes: float = 0.0, seconds: float = 0.0
    ) -> tuple[Job, ...]:
        """Let this time pass, and run each job at the moment at which it is due. Returns and raises as
        ``run_jobs_inline``; after an error, the clock shows the moment at which it was raised.
        """
        passing_s = in_seconds(DAYS_MAX, days=days, hours=hours, minutes=minutes, seconds=seconds)
        until_ms = self._clock.now_ms + round(1000 * passing_s)
        ran = await self.run_jobs_inline()
        while (next_ms := self._due.next_ms) is not None and next_ms <= until_ms:
            self._clock.now_ms = max(self._clock.now_ms, next_ms)
            ran += await self.run_jobs_inline()
        self._clock.now_ms = until_ms
        return tuple({job.id: job for job in ran}.values())
