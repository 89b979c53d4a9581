"""An effect continues after a kill that was meant for its actor but found the predecessor, already dead."""

from collections.abc import Iterable
from random import Random

from callboard.actors.core.agent import ActorSpec, AgentSpec, World
from callboard.actors.core.decision import Done, Effect, Input, Moment, Origin, Perform, Started, Stopped, Stopping
from callboard.actors.core.effects import FindBounds
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.errors import LogUnavailable
from callboard.testing.simulation.engine.fates import Doom, Fault
from callboard.testing.simulation.engine.host import Host

KILLS = 6
WITHIN_S = 60.0
"""Of virtual time."""


class Worker:
    """Performs one effect after the other."""

    def __init__(self, settings: None, rng: Random) -> None:
        pass

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Started() | Done():
                yield FindBounds("topic")
            case Stopping():
                yield Stopped()


class DoomedWorld:
    """Kills the actor during each effect, until there were enough kills."""

    host: Host

    def __init__(self) -> None:
        self.kills = 0
        self.outlived = False

    async def perform(self, effect: Perform) -> None:
        """See ``World``."""
        if self.kills < KILLS:
            await Doom(Fault.KILL_INSIDE, 1, self._strike, 0.0, lambda: None).meet(False, LogUnavailable)
        self.outlived = self.kills >= KILLS

    async def close(self) -> None:
        """See ``World``."""

    def _strike(self) -> bool:
        struck = self.host.strike("worker", Fault.KILL_INSIDE)
        self.kills += struck
        return struck


def test_work_continues_after_kills_of_any_incarnation() -> None:
    for seed in range(25):
        world = DoomedWorld()

        async def opened(world: DoomedWorld = world) -> World:
            return world

        spec = AgentSpec("agent", (ActorSpec("worker", Worker, None),), opened)
        with Simulation(seed) as simulation:
            world.host = Host(simulation, lambda spec=spec: spec, lambda _: None)
            running = simulation.loop.create_task(world.host.run())
            simulation.run_until(lambda world=world: world.outlived, WITHIN_S)
            running.cancel()
