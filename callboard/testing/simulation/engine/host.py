"""The host of a simulated agent: restarts it whenever it ends, under a clock that may be wrong."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from callboard.actors.core.agent import Agent, AgentSpec
from callboard.actors.core.decision import Moment
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.supervision import Limits
from callboard.errors import CallboardError
from callboard.testing.simulation.engine.fates import Fault

AGAIN_S = 0.5
"""Seconds after which a service manager restarts an agent that has ended."""

LIMITS = Limits(backoff_s=(0.0, 0.05), max_restarts=1_000_000)
"""For supervision: actors die all the time here, so none may be given up."""


@dataclass
class HostClock:
    """A clock whose wall time jumps, and runs fast or slow; its durations are right, as always."""

    simulation: Simulation
    ahead_s: float = 0.0
    rate: float = 1.0
    since_s: float = 0.0

    def now(self) -> Moment:
        """See ``Clock``."""
        wall_ns, mono_s = self.simulation.clock.now()
        return Moment(wall_ns + round(self._ahead(mono_s) * 1e9), mono_s)

    def skew(self, jump_s: float, rate: float) -> None:
        """Jump, and run at this rate from now on."""
        mono_s = self.simulation.clock.now().mono_s
        self.ahead_s, self.rate, self.since_s = self._ahead(mono_s) + jump_s, rate, mono_s

    def _ahead(self, mono_s: float) -> float:
        return self.ahead_s + (self.rate - 1.0) * (mono_s - self.since_s)


class Host:
    """Keeps one agent running.

    Args:
        simulation: the simulation it is part of.
        spec: makes the agent to run, at every start.
        crash: called when a process or (True) the whole host is lost, to update the disk.
    """

    def __init__(self, simulation: Simulation, spec: Callable[[], AgentSpec], crash: Callable[[bool], None]) -> None:
        self._simulation = simulation
        self._spec = spec
        self._crash = crash
        self.clock = HostClock(simulation)
        self.agent: Agent | None = None
        self.closing = False
        self._away_s = AGAIN_S
        self.suspended_s = 0.0, 0.0
        """From when to when its process was suspended, the last time."""
        self.ends: list[str] = []
        """The error that ended it."""

    async def run(self) -> None:
        """Run the agent until the end of the simulation."""
        while not self.closing:
            self.agent = await self._simulation.start(self._spec(), LIMITS, self.clock)
            self.suspended_s = 0.0, 0.0
            try:
                await self.agent.ended()
            except CallboardError as problem:
                self.ends.append(str(problem))
            self.agent = None
            away_s, self._away_s = self._away_s, AGAIN_S
            await asyncio.sleep(away_s)

    def strike(self, role: str, fault: Fault) -> bool:
        """Kill the actor, or all of them; False if it is not running."""
        if fault in (Fault.PROCESS_LOST, Fault.HOST_LOST):
            return self.lose(host=fault is Fault.HOST_LOST)
        if self.agent is None or all(actor.role != role for actor in self.agent.actors()):
            return False
        self._simulation.note(f"fate kills {role}")
        asyncio.get_running_loop().create_task(self.agent.kill(role))
        return True

    def lose(self, *, host: bool, away_s: float = AGAIN_S) -> bool:
        """Lose the process, or its host, now; it is back after a while."""
        if self.agent is None:
            return False
        self._away_s = away_s
        agent, self.agent = self.agent, None
        self._simulation.note(f"fate takes {'the host' if host else 'the process'}")
        self._simulation.cut_off(agent)
        self._crash(host)
        asyncio.get_running_loop().create_task(agent.stop(0.0))
        return True

    def suspend(self, seconds: float) -> None:
        """Suspend the process; what the system does for it continues."""
        if self.agent is not None:
            self._simulation.suspend(self.agent, seconds)
            self.suspended_s = self._simulation.loop.time(), self._simulation.loop.time() + seconds

    async def stop(self, drain_s: float) -> None:
        """Stop it cleanly; it is restarted unless this is the end."""
        if self.agent is not None:
            await self.agent.stop(drain_s)
