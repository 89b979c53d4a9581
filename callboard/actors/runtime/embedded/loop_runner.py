"""Carries out effects as tasks of the loop that the actors run on: embedded and simulated."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from functools import partial

from callboard.actors.core.agent import Clock, World
from callboard.actors.core.decision import Perform
from callboard.actors.runtime.mail import Mail
from callboard.actors.runtime.site import EffectEnded
from callboard.errors import CallboardError


class SharedWorld:
    """The one world of an agent, opened when the first effect needs it and reopened if that failed."""

    def __init__(self, opener: Callable[[], Awaitable[World]]) -> None:
        self._opener = opener
        self._world: World | None = None
        self._opening = asyncio.Lock()

    async def perform(self, effect: Perform, question: int) -> EffectEnded:
        """Carry out one effect, begun at this question; every way it can end is a value."""
        ended = partial(EffectEnded, effect, question)
        try:
            world = await self._opened()
            return ended(await world.perform(effect))
        except CallboardError as error:
            return ended(error=error, trace=traceback.format_exc())
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return ended(bug=traceback.format_exc())  # only something that the world awaited was cancelled
        except (Exception, SystemExit):  # noqa: BLE001  # a bug, which ends the actor that hit it, not the process
            return ended(bug=traceback.format_exc())

    async def close(self) -> None:
        """Release everything opened."""
        if self._world is not None:
            world, self._world = self._world, None
            await world.close()

    async def _opened(self) -> World:
        async with self._opening:
            if self._world is None:
                self._world = await self._opener()
            return self._world


class LoopRunner:
    """The effects of one actor; see ``EffectRunner``."""

    watch = None

    def __init__(
        self,
        world: SharedWorld,
        mail_to_self: Callable[[EffectEnded], None],
        all_tasks: set[asyncio.Task[None]],
    ) -> None:
        self._world = world
        self._mail_to_self = mail_to_self
        self._all_tasks = all_tasks
        self._mine: set[asyncio.Task[None]] = set()

    def start(self, effect: Perform, question: int) -> None:
        """Begin; the outcome is mailed to the shell."""
        task = asyncio.get_running_loop().create_task(self._run(effect, question))
        for tasks in (self._mine, self._all_tasks):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def ended(self) -> list[EffectEnded]:
        """Empty: outcomes are mailed."""
        return []

    def cancel(self) -> None:
        """Cancel running effects."""
        for task in list(self._mine):
            task.cancel()

    def close(self) -> None:
        """Cancel; the world is shared, and stays open."""
        self.cancel()

    async def _run(self, effect: Perform, question: int) -> None:
        self._mail_to_self(await self._world.perform(effect, question))


class LoopSite:
    """Where the actors of one embedded or simulated agent run; see ``Site``."""

    least_wake_s = 0.0

    def __init__(self, clock: Clock, world: Callable[[], Awaitable[World]]) -> None:
        self.clock = clock
        self._world = SharedWorld(world)
        self._running: set[asyncio.Task[None]] = set()

    def outgoing(self, mail: Mail) -> Mail:
        """The mail itself: it is passed by reference."""
        return mail

    def enter(self, role: str) -> None:
        """Nothing to do."""

    def pid_of_newest_child(self, parent: object) -> int:
        """0: the actors have no processes of their own."""
        del parent
        return 0

    def runner(self, mail_to_self: Callable[[EffectEnded], None]) -> LoopRunner:
        """A runner for one actor."""
        return LoopRunner(self._world, mail_to_self, self._running)

    async def close(self) -> None:
        """Wait until every effect has ended, then close the world."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._world.close()
