"""Services with the same entities, and agents, each on a host; and the troubles that they have."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from callboard.actors import entities
from callboard.actors.core.agent import AgentSpec, World, of_the_board
from callboard.actors.entities import EntitySettings
from callboard.actors.entities.entity import Entity
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.worlds.log_world import LogWorld
from callboard.testing.actors.simulation.fated_world import FatedWorld
from callboard.testing.simulation.engine.fates import Fates, Fault
from callboard.testing.simulation.engine.host import Host
from callboard.testing.simulation.engine.simulated_log import SimulatedLog

SERVICES = 3
"""Processes with the same entities."""

ODDS = (0.0, 0.005, 0.02, 0.05)
"""Of each fault at an effect, and of a late append: each seed has its own, so that some see much of one kind."""

TROUBLES = ("outage", "cut off", "lost", "suspended", "clock set", "log replaced")

TROUBLE_S = 4.0
"""How long something is away at most; half of it between two troubles."""

CLOCK_S = 3600.0
"""By how much a clock is set at most."""


class Services:
    """Everything that runs.

    Args:
        simulation: of the seed.
        log: of all of them.
        topics: of the entities, by their classes.
        agents: beside them.
        note: adds a line for display.
        replace: puts a copy of this age, in seconds, in the place of the log.
    """

    def __init__(
        self, simulation: Simulation, log: SimulatedLog, topics: Mapping[type[Entity], str],
        agents: Sequence[AgentSpec], note: Callable[[str], None], replace: Callable[[float], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._simulation, self._log, self._note, self._replace = simulation, log, note, replace
        rng = self._rng = Random(simulation.rng.random())  # noqa: S311 - reproducible, not secret
        odds = {fault: share for fault in Fault if (share := rng.choice(ODDS))}
        self.fates, self._late = Fates(Random(rng.random()), odds), rng.choice(ODDS)  # noqa: S311 - likewise
        self.hosts: dict[str, Host] = {}
        self.troubles = Counter[str]()
        self.keepers = {
            entity: [self._keeper(entity, topic, f"service {number}") for number in range(1, SERVICES + 1)]
            for entity, topic in topics.items()
        }
        for number, spec in enumerate(agents, 1):
            self._host(f"agent {number}, {spec.name}", spec)
        self._running: list[asyncio.Future[None]] = []

    def start(self) -> None:
        """Start everything."""
        self._running = [asyncio.ensure_future(host.run()) for host in self.hosts.values()]

    async def stop(self) -> None:
        """End everything."""
        for host in self.hosts.values():
            host.closing = True
            await host.stop(0.0)
        await asyncio.gather(*self._running)

    async def trouble(self) -> None:
        """Make trouble until cancelled."""
        kinds = self._rng.sample(TROUBLES, self._rng.randint(0, len(TROUBLES)))
        while kinds:
            await asyncio.sleep(self._rng.uniform(0.0, TROUBLE_S / 2))
            kind, seconds = self._rng.choice(kinds), self._rng.uniform(0.0, TROUBLE_S)
            name, host = self._rng.choice(list(self.hosts.items()))
            self.troubles[kind] += 1
            self._note(f"trouble: {kind}{'' if kind in ('outage', 'log replaced') else f', {name}'}")
            match kind:
                case "outage":
                    self._log.fail_for(seconds)
                case "cut off":
                    self._log.cut_off(name, seconds)
                case "lost":
                    host.lose(host=True, away_s=seconds)
                case "suspended":
                    host.suspend(seconds)
                case "clock set":
                    host.clock.skew(self._rng.uniform(-CLOCK_S, CLOCK_S), self._rng.choice((0.9, 1.0, 1.1)))
                case _:
                    kinds.remove(kind)  # once
                    await self._replace(self._rng.uniform(0.0, self._simulation.loop.time()))

    def _keeper(self, entity: type[Entity], topic: str, service: str) -> Host:
        actors = entities.actors(EntitySettings(entity, topic, service))
        return self._host(f"{entity.__name__} of {service}", AgentSpec(service, actors))

    def _host(self, name: str, spec: AgentSpec) -> Host:
        def strike(fault: Fault) -> bool:
            return host.strike(self._rng.choice(spec.actors).role, fault)

        async def world() -> World:
            its: World = LogWorld(self._log, effects=spec.effects)
            if spec.world is not of_the_board:
                its = await spec.world()
            return FatedWorld(its, name, self.fates, strike, self._late, self._rng)

        host = self.hosts[name] = Host(self._simulation, lambda: replace(spec, world=world), lambda _: None)
        return host
