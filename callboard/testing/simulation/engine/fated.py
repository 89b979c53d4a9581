"""A world whose effects meet the fates."""

from collections.abc import Callable
from typing import Any

from callboard.actors.core.agent import World
from callboard.actors.core.decision import Perform
from callboard.errors import LogUnavailable
from callboard.testing.simulation.engine.fates import CALLER, CURRENT, Fates, Fault


class Fated:
    """Carries out effects as ``world`` does, with faults.

    Args:
        world: the real one, on simulated backends.
        host: where it runs.
        fates: choose the fault of each effect.
        strike: kills the actor of a role, in a given way; False if there is nothing to kill.
        note: adds a line to the trace.
        ended: receives every effect that has succeeded.
    """

    def __init__(
        self,
        world: World,
        *,
        host: str,
        fates: Fates,
        strike: Callable[[str, Fault], bool],
        note: Callable[[str], None],
        ended: Callable[[Perform], None],
    ) -> None:
        self._world, self._host, self._fates = world, host, fates
        self._strike, self._note, self._ended = strike, note, ended

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        role = effect.owner.partition("/")[0]
        doom = self._fates.doom(effect, lambda fault: self._strike(role, fault))
        CURRENT.set(doom)
        CALLER.set(self._host)
        self._note(f"{role} {type(effect).__name__}")
        if doom is not None and doom.fault is Fault.KILL_BEFORE:
            await doom.happen(LogUnavailable)
        result = await self._world.perform(effect)
        self._ended(effect)
        if doom is not None and doom.fault is Fault.KILL_AFTER:
            await doom.happen(LogUnavailable)
        return result

    async def close(self) -> None:
        """See ``World``."""
        await self._world.close()
