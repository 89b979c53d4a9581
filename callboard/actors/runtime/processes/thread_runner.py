"""Carries out effects on an asyncio loop in a thread of the actor's own process.

An actor with such a thread must be a leaf: it must not fork, so it must not create actors.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from callboard.actors.core.agent import Clock, World
from callboard.actors.core.decision import Perform
from callboard.actors.runtime.actor_system import leash
from callboard.actors.runtime.actor_system.actors import ThespianWatch, pid_of_newest_child
from callboard.actors.runtime.embedded.loop_runner import LoopRunner, SharedWorld
from callboard.actors.runtime.mail import Mail, PackedMail
from callboard.actors.runtime.site import EffectEnded

CLOSE_S = 5.0
"""How long a world may take to close; then the process is ended with the world still open."""

LEAST_WAKE_S = 0.001
"""thespian handles wake-ups that are due before it reads mail: an actor woken at once, again and again, gets none."""


class ThreadRunner:
    """The effects of one actor; see ``EffectRunner``. Their outcomes wake the actor through an eventfd."""

    def __init__(self, world: SharedWorld) -> None:
        self._world = world
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ended: deque[EffectEnded] = deque()
        self._loop = asyncio.new_event_loop()
        self._tasks = LoopRunner(world, self._ring, set())
        self._thread = threading.Thread(target=self._loop.run_forever, name="effects", daemon=True)
        self._thread.start()

    @property
    def watch(self) -> Any:
        """What wakes the actor."""
        return ThespianWatch([self._bell])

    def start(self, effect: Perform, question: int) -> None:
        """Begin."""
        self._loop.call_soon_threadsafe(self._tasks.start, effect, question)

    def ended(self) -> list[EffectEnded]:
        """Outcomes since the last call."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        # An outcome appended after the bell was read rings it again; finding it here already is harmless.
        taken = []
        while self._ended:
            taken.append(self._ended.popleft())
        return taken

    def cancel(self) -> None:
        """Cancel running effects."""
        self._loop.call_soon_threadsafe(self._tasks.cancel)

    def close(self) -> None:
        """Cancel running effects, close the world, end the thread."""
        closing = asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop)
        with suppress(Exception):  # the end of its process closes what a world cannot close
            closing.result(CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        os.close(self._bell)

    def _ring(self, ended: EffectEnded) -> None:
        self._ended.append(ended)
        os.eventfd_write(self._bell, 1)

    async def _wind_up(self) -> None:
        self._tasks.cancel()
        await asyncio.sleep(0)
        await self._world.close()


@dataclass(frozen=True, slots=True)
class ProcessSite:
    """The site of an actor with its own process and world; see ``Site``. Picklable."""

    clock: Clock
    world: Callable[[], Awaitable[World]]
    configure_logging: Callable[[], None] | None

    @property
    def least_wake_s(self) -> float:
        """See ``LEAST_WAKE_S``."""
        return LEAST_WAKE_S

    def outgoing(self, mail: Mail) -> PackedMail:
        """The mail, encoded."""
        return PackedMail(mail)

    def enter(self, role: str) -> None:
        """Name the process, and log as the service does: thespian has installed its own root logger."""
        leash.set_name(f"cb:{role}")
        if self.configure_logging is not None:
            self.configure_logging()

    def pid_of_newest_child(self, parent: Any) -> int:
        """See ``actors.pid_of_newest_child``."""
        return pid_of_newest_child(parent)

    def runner(self, mail_to_self: Callable[[EffectEnded], None]) -> ThreadRunner:
        """The runner of the one actor here, which gets no mail from another thread."""
        del mail_to_self
        return ThreadRunner(SharedWorld(self.world))
