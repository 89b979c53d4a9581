"""Agents on the event loop whose timers a test moves on, and whose imports it lets fail."""

import asyncio
from collections import defaultdict, deque
from dataclasses import replace
from datetime import timedelta
from heapq import heappop, heappush
from math import inf
from random import SystemRandom
from time import time_ns
from typing import Any

from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.core.decision import Moment, Perform
from callboard.actors.runtime import Limits, SystemClock
from callboard.actors.runtime.actor_system.actors import WakeupMessage
from callboard.actors.runtime.actor_system.loop_base import LoopBase
from callboard.actors.runtime.embedded.embedded import start_on
from callboard.actors.subscriber.effects import ImportPackages
from callboard.errors import HookFailed

TURNS = 20
"""Of the loop without anything to do: what is appended has reached all that wait for it."""

SETTLE_S = 1.0
"""For what an actor does outside of the log, such as an import. What takes longer, like a hook that waits for the test,
goes on while the time passes."""


class DrivenBase(LoopBase):
    """The mailboxes of one agent, whose timers come when their time has come by the clock that drives them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, drive: "Drive") -> None:
        super().__init__(loop, name)
        self._drive = drive
        self._wakes: list[tuple[float, int, str, asyncio.TimerHandle]] = []
        self._asked = 0

    def wake_up_after(self, name: str, period: timedelta, payload: Any) -> asyncio.TimerHandle:
        """See ``LoopBase``. The supervisor, which gives a payload, restarts actors in real time."""
        handle = super().wake_up_after(name, period, payload)
        if payload is None:
            self._asked += 1
            heappush(self._wakes, (self._drive.now().mono_s + period.total_seconds(), self._asked, name, handle))
        return handle

    @property
    def next_s(self) -> float:
        """When its next timer is due, on the monotonic clock."""
        while self._wakes and not self._is_outstanding():
            heappop(self._wakes)
        return self._wakes[0][0] if self._wakes else inf

    def wake(self, now_s: float) -> None:
        """Wake the actors that have timers due by now."""
        while self.next_s <= now_s:
            _, _, name, handle = heappop(self._wakes)
            handle.cancel()
            self._wakeups[name].discard(handle)
            self.send(name, name, WakeupMessage(timedelta(), None))

    def _is_outstanding(self) -> bool:
        """Whether the loop has not seen to the next one, nor its actor ended."""
        _, _, name, handle = self._wakes[0]
        return handle in self._wakeups.get(name, ())

    def close(self) -> None:
        """See ``LoopBase``."""
        super().close()
        self._wakes.clear()

    @property
    def has_mail(self) -> bool:
        """Whether any of its actors has something to handle."""
        return self._waiting()


class DrivenWorld:
    """The world of a driven agent. It says which effects are under way, and fails imports as it is told."""

    def __init__(self, world: World, busy: set[asyncio.Task[Any]], failures: deque[str]) -> None:
        self._world, self._busy, self._failures = world, busy, failures

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        if isinstance(effect, ImportPackages) and self._failures:
            raise HookFailed(self._failures.popleft() if effect.alone else self._failures[0])
        task = asyncio.current_task()
        if task is None or getattr(effect, "wait_s", 0.0) > 0:  # it waits for others
            return await self._world.perform(effect)
        self._busy.add(task)
        try:
            return await self._world.perform(effect)
        finally:
            self._busy.discard(task)

    async def close(self) -> None:
        """See ``World``."""
        await self._world.close()


class Drive:
    """Runs the agents of a board, and tells them the time: that of this machine, and what ``advance`` has added."""

    def __init__(self) -> None:
        self._system, self._moved_s = SystemClock(), 0.0
        self._bases: list[DrivenBase] = []
        self._busy: set[asyncio.Task[Any]] = set()
        self._slow: set[asyncio.Task[Any]] = set()
        self.failures: defaultdict[str, deque[str]] = defaultdict(deque)
        """By agent, why its next attempts to import a package fail."""

    def now_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return time_ns() + int(self._moved_s * 1e9)

    def now(self) -> Moment:
        """See ``Clock``."""
        return Moment(self.now_ns(), self._system.now().mono_s + self._moved_s)

    async def run(self, spec: AgentSpec) -> Agent:
        """Run an agent on the running event loop; see ``start_agent``."""

        async def world() -> World:
            return DrivenWorld(await spec.world(), self._busy, self.failures[spec.name])

        base = DrivenBase(asyncio.get_running_loop(), spec.name, self)
        agent = await start_on(base, replace(spec, world=world), self, SystemRandom(), Limits())
        self._bases.append(base)
        return agent

    async def advance(self, seconds: float) -> None:
        """Let this time pass: from one timer of an actor to the next, each of which does what it has to do."""
        until_s = self._moved_s + seconds
        await self.settle()
        while self._moved_s < until_s:
            next_s = min((base.next_s for base in self._bases), default=inf) - self.now().mono_s
            self._moved_s = min(until_s, self._moved_s + max(0.0, next_s))
            now_s = self.now().mono_s
            for base in self._bases:
                base.wake(now_s)
            await self.settle()

    async def settle(self) -> None:
        """Wait until no actor has anything to do."""
        idle = 0
        while idle < TURNS:
            self._slow &= self._busy
            if busy := self._busy - self._slow:
                _, slow = await asyncio.wait(busy, timeout=SETTLE_S)
                self._slow |= slow
            await asyncio.sleep(0)
            idle = 0 if self._busy - self._slow or any(base.has_mail for base in self._bases) else idle + 1
