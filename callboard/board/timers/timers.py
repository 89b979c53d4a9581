"""Timers of a service: they call its functions, and end with it."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Self

from callboard.actors.jobs.schedules.ticks import tick_after
from callboard.board.member.calling import Failures, called
from callboard.board.member.topology_view import TopologyView
from callboard.board.timers.timer_plan import Timer, TimerPlan, runs_here
from callboard.door import schedules as door
from callboard.messages.jobs.job_messages import ScheduleMessage

LOOK_S = 1.0
"""The longest wait, so that a clock that is set is noticed."""


@dataclass(slots=True)
class _Called:
    """A function, its runs, and whether it is due again when its run has ended."""

    function: Callable[[], object]
    failures: Failures = field(default_factory=lambda: Failures("timer.failed"))
    runs: set[asyncio.Task[None]] = field(default_factory=set)
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class TimerState:
    """A timer: when it is due next, in milliseconds since the epoch, how often (-1: for ever), and its runs now."""

    name: str
    next_ms: int
    left: int
    running: int


class Timers:
    """Calls functions of the service at their times, inside ``async with``; nothing of it is stored.

    What has to happen even if this process has ended is a schedule: see ``BoardJobs.schedule``.

    Args:
        now_ms: the clock, in milliseconds since the epoch.
        topology: tells the present view, which decides where timers run. Without it, only those for all run.
    """

    def __init__(self, now_ms: Callable[[], int], topology: Callable[[], TopologyView] | None = None) -> None:
        self._now_ms, self._topology = now_ms, topology
        self._plan, self._called = TimerPlan(), dict[str, _Called]()
        self._changed = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    def set(
        self,
        name: str,
        function: Callable[[], object],
        *,
        cron: str | Iterable[str] = (),
        every_s: float | None = None,
        at: datetime | None = None,
        now: bool = False,
        times: int | None = None,
        zone: str = "UTC",
        concurrent: bool = False,
        run_on: str | Iterable[str] = "all",
    ) -> None:
        """Call the function at these times; without any, once now. A timer of the same name is replaced.

        Args:
            name: of the timer; the same in all members for ``run_on="single"``.
            function: takes nothing. If it is no coroutine function, it runs in a thread. What it raises is logged.
            cron: one or several expressions, as for schedules.
            every_s: or seconds between calls, the first after as many, or at ``at``.
            at: the first call, or the only one without ``every_s``.
            now: call it now, too, not only after ``every_s``, or by ``cron``.
            times: how many calls in all; default: no limit.
            zone: the time zone of ``cron``, and of ``at`` if that has none.
            concurrent: call it also while it still runs. Without, it is called once when it has ended.
            run_on: ``"all"`` members, ``"leader"``, ``"single"`` (one, chosen by the name) or a list of instance ids.

        Raises:
            RequestRefused: wrong arguments, such as a time that has passed.
        """
        now_ms = self._now_ms()
        taken = door.timer(
            now_ms, name=name, function=function, cron=cron, every_s=every_s, at=at, now=now, times=times, zone=zone,
            concurrent=concurrent, run_on=run_on,
        )  # fmt: skip
        rule = ScheduleMessage(name=name, topic="", cron=taken["cron"], every_ms=taken["every_ms"], zone=zone)
        due_ms = base_ms = taken["at_ms"] or now_ms
        if not now and at is None:
            due_ms = tick_after(rule, base_ms, now_ms) or now_ms
        self.remove(name)
        self._plan.timers[name] = Timer(rule, due_ms, base_ms, times or -1, concurrent, taken["run_on"])
        self._called[name] = _Called(function)
        self._changed.set()

    def remove(self, name: str) -> bool:
        """Call the function no more; calls that run go on. Returns whether there was a timer of this name."""
        if (its := self._called.pop(name, None)) is not None:
            its.is_held = False
        return self._plan.timers.pop(name, None) is not None

    def timers(self) -> tuple[TimerState, ...]:
        """The timers that are still due, by name."""
        return tuple(
            TimerState(name, its.due_ms, its.left, len(self._called[name].runs))
            for name, its in sorted(self._plan.timers.items())
        )

    async def _follow(self) -> None:
        while True:
            self._changed.clear()
            for name, timer in self._plan.due(self._now_ms()):
                its = self._called[name] if name in self._plan.timers else self._called.pop(name)
                self._call(name, timer, its)
            wait_s = LOOK_S
            if (next_ms := self._plan.next_ms) is not None:
                wait_s = min(LOOK_S, max(0, next_ms - self._now_ms()) / 1000)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()

    def _call(self, name: str, timer: Timer, its: _Called) -> None:
        """Call the function, if it is to run here."""
        if its.runs and not timer.concurrent:
            its.is_held = True
        elif runs_here(timer.run_on, name, self._topology and self._topology()):
            run = asyncio.create_task(self._run(name, timer, its))
            its.runs.add(run)
            self._running.add(run)

    async def _run(self, name: str, timer: Timer, its: _Called) -> None:
        this = asyncio.current_task()
        assert this is not None
        try:
            await called(its.function)
            its.failures.end()
        except Exception as error:  # noqa: BLE001 - a function may raise anything, and its timer goes on
            its.failures.note(error)
        finally:
            its.runs.discard(this)
            self._running.discard(this)
        if its.is_held:
            its.is_held = False
            self._call(name, timer, its)

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        work = {self._following, *self._running}
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)
