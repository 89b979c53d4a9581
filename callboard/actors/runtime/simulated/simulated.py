"""The simulated runtime: agents in virtual time, with every order of events chosen by a seed."""

import asyncio
import hashlib
import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from random import Random
from types import TracebackType
from typing import Any, TypeVar

from callboard.actors.core.agent import Agent, AgentSpec, Clock, World
from callboard.actors.core.decision import Moment, Perform
from callboard.actors.runtime.actor_system.loop_base import LoopBase, Message
from callboard.actors.runtime.embedded.embedded import start_on
from callboard.actors.runtime.mail import Mail
from callboard.actors.runtime.simulated.virtual_loop import VirtualLoop
from callboard.actors.runtime.supervision import Limits
from callboard.messages.codec import decode_any, encode_any
from callboard.messages.event import Event

T = TypeVar("T")

COPIES = 16
"""Copies of mail that are kept: one handled input sends the same event to a few receivers."""

EPOCH_NS = 1_700_000_000 * 10**9
"""Wall clock time at the beginning of every simulation."""

LATENCY_S = 0.001
"""The longest pause before the next delivery, so that outcomes of effects can come in between."""

TAIL = 40
"""Lines of the trace that are kept: what led to the end fits on a screen."""

POLL_S = 0.01
"""How often, in virtual time, ``run_until`` checks."""


class VirtualClock:
    """The time of a simulation; see ``callboard.actors.core.agent.Clock``."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> Moment:
        """The present moment: the wall clock begins in November 2023, the monotonic one at 0."""
        now_s = self._loop.time()
        return Moment(EPOCH_NS + round(now_s * 1e9), now_s)


class SeededBase(LoopBase):
    """Delivers the oldest message of a randomly chosen pair of sender and receiver, and encodes all mail. Its timers
    run at ``pace``.
    """

    def __init__(self, loop: VirtualLoop, name: str, rng: Random, trace: Callable[[str], None], pace: float) -> None:
        super().__init__(loop, name)
        self._pace = pace
        self._rng = rng
        self._trace = trace
        self._pairs: dict[tuple[str, str], deque[Message]] = {}
        self._copies: dict[int, tuple[Event, Event]] = {}
        self.asleep_until_s = 0.0
        """No mail is delivered before this moment."""

    def wake_up_after(self, name: str, period: timedelta, payload: Any) -> asyncio.TimerHandle:
        """See ``LoopBase``."""
        return super().wake_up_after(name, period / self._pace, payload)

    def _enqueue(self, message: Message) -> None:
        if isinstance(message.content, Mail):
            mail = message.content
            message.content = mail._replace(events=tuple(map(self._copied, mail.events)))
        self._pairs.setdefault((message.sender, message.receiver), deque()).append(message)

    def _copied(self, event: Event) -> Event:
        """The event as a process would decode it: one copy for all receivers, as none can change it."""
        if id(event) not in self._copies:
            if len(self._copies) >= COPIES:
                self._copies.clear()
            self._copies[id(event)] = event, decode_any(*encode_any(event))  # kept, so that no other has its id
        return self._copies[id(event)][1]

    def _next(self) -> Message:
        # The dictionary has the order of the messages, so equal seeds choose equal pairs.
        pair = self._rng.choice(list(self._pairs))
        waiting = self._pairs[pair]
        message = waiting.popleft()
        if not waiting:
            del self._pairs[pair]
        self._trace(f"{self._loop.time():.9f} {message.sender}>{message.receiver} {_name(message.content)}")
        return message

    def _waiting(self) -> bool:
        return bool(self._pairs)

    def _deliver_some(self) -> None:
        if self._pairs:  # a kill since the turn was planned may have dropped them
            self._deliver(self._next())

    def _forget(self, receiver: str) -> None:
        for pair in [pair for pair in self._pairs if pair[1] == receiver]:
            del self._pairs[pair]

    def _next_turn(self, turn: Callable[[], None]) -> asyncio.Handle:
        delay_s = self._rng.uniform(0, LATENCY_S)
        return self._loop.call_later(max(delay_s, self.asleep_until_s - self._loop.time()), turn)


class SlowWorld:
    """A world whose effects pause before and after, so that their actor can be killed in between."""

    def __init__(self, world: World, rng: Random) -> None:
        self._world = world
        self._rng = rng

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        await asyncio.sleep(self._rng.uniform(0, LATENCY_S))
        result = await self._world.perform(effect)
        await asyncio.sleep(self._rng.uniform(0, LATENCY_S))
        return result

    async def close(self) -> None:
        """See ``World``."""
        await self._world.close()


class Simulation:
    """Agents, and the code that uses them, in one virtual world.

    Code that runs in it must take its time, randomness and I/O from it: then the same seed gives the same
    trace on every machine. Use it as a context manager, or ``close`` it.
    """

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)  # noqa: S311  # reproducible, not secret
        self.loop = VirtualLoop(self.rng)
        self.clock = VirtualClock(self.loop)
        self._trace = hashlib.sha256()
        self._bases: dict[Agent, SeededBase] = {}
        self.steps = 0
        self.tail: deque[str] = deque(maxlen=TAIL)
        """The last lines of the trace, for display."""

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def trace(self) -> str:
        """A digest of every delivery so far: what, from which actor, to which, when."""
        return self._trace.hexdigest()

    async def start(
        self, spec: AgentSpec, limits: Limits | None = None, clock: Clock | None = None, pace: float = 1.0
    ) -> Agent:
        """Run an agent in this simulation, with its own clock if given, and ``pace`` seconds of its monotonic time in
        each second. Await it inside; otherwise as ``start_embedded``.
        """
        base = SeededBase(self.loop, spec.name, self.rng, self.note, pace)

        async def slow_world() -> World:
            return SlowWorld(await spec.world(), self.rng)

        slow = replace(spec, world=slow_world)
        agent = await start_on(base, slow, clock or self.clock, self.rng, limits or Limits())
        self._bases[agent] = base
        return agent

    def cut_off(self, agent: Agent) -> None:
        """End every actor of the agent immediately, as the death of its process does; then ``stop`` it."""
        self._bases.pop(agent).close()

    def suspend(self, agent: Agent, seconds: float) -> None:
        """Suspend all actors of the agent for ``seconds``, as when its process is stopped; its I/O continues."""
        self._bases[agent].asleep_until_s = self.loop.time() + seconds

    def note(self, line: str) -> None:
        """Add a line to the trace, for an event other than a delivery."""
        self.steps += 1
        self.tail.append(line)
        self._trace.update(f"{line}\n".encode())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until the coroutine is done, and return its result. Raises ``StuckError`` if it can never finish."""
        return self.loop.run_until_complete(work)

    def run_for(self, seconds: float) -> None:
        """Let this much virtual time pass."""
        self.run(asyncio.sleep(seconds))

    def run_until(self, predicate: Callable[[], bool | Awaitable[bool]], within_s: float) -> None:
        """Let time pass until the predicate, which may be a coroutine function, is true. Raises ``TimeoutError``."""
        self.run(self._until(predicate, within_s))

    def close(self) -> None:
        """End everything still running in it."""
        self.loop.allow(math.inf)
        while left := asyncio.all_tasks(self.loop):  # an ending task may start another one
            for task in left:
                task.cancel()
            self.run(_gathered(left))
        self.loop.close()

    async def _until(self, predicate: Callable[[], bool | Awaitable[bool]], within_s: float) -> None:
        async with asyncio.timeout(within_s):
            while True:
                verdict = predicate()
                if verdict if isinstance(verdict, bool) else await verdict:
                    return
                await asyncio.sleep(POLL_S)


async def _gathered(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def _name(content: Any) -> str:
    if isinstance(content, Mail):
        return f"Mail {content.question} {','.join(type(event).__name__ for event in content.events)}"
    return type(content).__name__
