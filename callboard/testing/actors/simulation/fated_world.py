"""The world of a simulated agent: another one, in which effects meet their fates, and appends may be late."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from callboard.actors.core.agent import World
from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import Append
from callboard.errors import CallboardError, LogUnavailable
from callboard.testing.simulation.engine.fates import CALLER, CURRENT, Fates, Fault

LATE_S = (0.05, 0.5, 5.0, None)
"""An append that seems to have failed lands after this time, or never."""


class FatedWorld:
    """See ``World``.

    Args:
        world: carries out the effects.
        host: where the agent runs.
        fates: choose the fault of each effect.
        strike: kills in a given way; False if there is nothing to kill.
        late: the odds that an append seems to have failed, and is late.
        rng: decides about these.
    """

    def __init__(
        self, world: World, host: str, fates: Fates, strike: Callable[[Fault], bool], late: float, rng: Random
    ) -> None:
        self._world, self._host, self._fates, self._strike = world, host, fates, strike
        self._late, self._rng = late, rng
        self._arriving: set[asyncio.Future[None]] = set()

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        doom = self._fates.doom(effect, self._strike)
        CALLER.set(self._host)
        if isinstance(effect, Append) and self._fates.active and self._rng.random() < self._late:
            if (after_s := self._rng.choice(LATE_S)) is not None:
                self._arriving.add(asyncio.ensure_future(self._arrive(effect, after_s)))
            raise LogUnavailable("whether it was appended is unknown; nothing is wrong")
        CURRENT.set(doom)
        if doom is not None and doom.fault is Fault.KILL_BEFORE:
            await doom.happen(LogUnavailable)
        result = await self._world.perform(effect)
        if doom is not None and doom.fault is Fault.KILL_AFTER:
            await doom.happen(LogUnavailable)
        return result

    async def _arrive(self, effect: Append, after_s: float) -> None:
        await asyncio.sleep(after_s)
        with suppress(CallboardError):
            await self._world.perform(effect)

    def forget(self) -> None:
        """Let nothing arrive that is late."""
        for each in self._arriving:
            each.cancel()

    async def close(self) -> None:
        """See ``World``. What is on its way still arrives."""
        await self._world.close()
