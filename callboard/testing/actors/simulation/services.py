"""Services with the same entities, and agents, each on a host; and the troubles that they have."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from random import Random

from callboard.actors import entities
from callboard.actors.core.agent import Agent, AgentSpec, World, of_the_board
from callboard.actors.entities import EntitySettings, projections
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.processes.process import Process
from callboard.actors.entities.projections import ProjectorSettings
from callboard.actors.entities.projections.table_rows import fold_of
from callboard.actors.entities.snapshot import snapshots
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.worlds.asker import Asker
from callboard.actors.worlds.fold_world import FoldWorld
from callboard.actors.worlds.log_world import LogWorld
from callboard.backends.fold_store import Fold
from callboard.errors import ConfigError, NotAnswered
from callboard.testing.actors.simulation.fated_world import FatedWorld
from callboard.testing.actors.simulation.simulated_store import SimulatedStore
from callboard.testing.simulation.engine.fates import Fates, Fault
from callboard.testing.simulation.engine.host import Host
from callboard.testing.simulation.engine.simulated_log import SimulatedLog

SERVICES = 3
"""Processes with the same entities."""

ODDS = (0.0, 0.005, 0.02, 0.05)
"""Of each fault at an effect, and of a late append: each seed has its own, so that some see much of one kind."""

TROUBLES = ("outage", "cut off", "lost", "suspended", "clock set", "log replaced", "store away", "store set back")

STORES = ("none", "own", "shared", "shared")
"""Where services keep snapshots; each seed chooses for each class."""

IN_MEMORY, SAVE_S = (1, 2, 10_000), (0.01, 0.2, 2.0)
"""Entities in memory, with snapshots; seconds until these are saved."""

PROJECTORS = 2
"""Processes with the same projection: one is on standby."""

ASK_S = 10.0
"""How long a task or a reaction waits for an answer."""

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
        follows: the settings of projections and reactions.
        note: adds a line for display.
        replace: puts a copy of this age, in seconds, in the place of the log.
    """

    def __init__(
        self, simulation: Simulation, log: SimulatedLog, topics: Mapping[type[Entity], str],
        agents: Sequence[AgentSpec], follows: Sequence[ProjectorSettings], note: Callable[[str], None],
        replace: Callable[[float], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._simulation, self._log, self._note, self._replace = simulation, log, note, replace
        rng = self._rng = Random(simulation.rng.random())  # noqa: S311 - reproducible, not secret
        odds = {fault: share for fault in Fault if (share := rng.choice(ODDS))}
        self.fates, self._late = Fates(Random(rng.random()), odds), rng.choice(ODDS)  # noqa: S311 - likewise
        self.hosts: dict[str, Host] = {}
        self.troubles = Counter[str]()
        self._topics = topics
        self._follows, self._worlds = follows, list[FatedWorld]()
        self.stores: dict[str, SimulatedStore] = {}
        self.keepers: dict[type[Entity], list[Host]] = {}
        for entity, topic in topics.items():
            where, in_memory, save_s = rng.choice(STORES), rng.choice(IN_MEMORY), rng.choice(SAVE_S)
            settings = EntitySettings(entity, topic, "", where != "none", in_memory, runs=True, save_s=save_s)
            self.keepers[entity] = [
                self._keeper(dataclasses.replace(settings, instance=f"service {number}"), number, where)
                for number in range(1, SERVICES + 1)
            ]
        for its in follows:
            for number in range(1, PROJECTORS + 1):
                self._projector(its, number)
        for number, spec in enumerate(agents, 1):
            self._host(f"agent {number}, {spec.name}", spec, topics=spec.topics)
        self._running: list[asyncio.Future[None]] = []
        self._away: set[asyncio.Future[None]] = set()

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
            if kind.startswith("store"):
                self._trouble_store(kind, seconds)
                continue
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
                    self._stop_all()
                    await self._replace(self._rng.uniform(0.0, self._simulation.loop.time()))

    def _stop_all(self) -> None:
        """Processes and reactions go by several topics, so nothing may run while the log is replaced."""
        if any(issubclass(entity, Process) for entity in self.keepers) or self._follows:
            for host in self.hosts.values():
                host.lose(host=False)
            for world in self._worlds:
                world.forget()

    def _trouble_store(self, kind: str, seconds: float) -> None:
        if not self.stores:
            return
        name, store = self._rng.choice(list(self.stores.items()))
        if kind == "store away":
            self._away.add(asyncio.ensure_future(store.away(seconds)))
        elif not store.restore():
            return
        self.troubles[kind] += 1
        self._note(f"trouble: {kind}, {name}")

    def _store(self, name: str, fold: Fold) -> SimulatedStore:
        if name not in self.stores:
            self.stores[name] = SimulatedStore(fold, self._rng)
        return self.stores[name]

    def _keeper(self, settings: EntitySettings, number: int, where: str) -> Host:
        name, store = settings.entity.__name__, None
        if settings.is_stored:
            owner = f" of service {number}" if where == "own" else ""
            store = self._store(f"snapshots of {name}{owner}", snapshots(settings.entity, settings.topic, "log"))
        spec = AgentSpec(settings.instance, entities.actors(settings))
        return self._host(f"{name} of {settings.instance}", spec, store, number)

    def _projector(self, settings: ProjectorSettings, number: int) -> None:
        store = self._store(settings.name, fold_of(settings))
        spec = AgentSpec(f"projector {number}", projections.actors(settings))
        self._host(f"{settings.of.__name__} of service {number}", spec, store, number)

    def demand(self, entity: type[Entity]) -> str:
        """Its topic. Raises ``ConfigError`` for one that is not simulated."""
        if entity not in self._topics:
            what = f"{entity.__name__} is asked, and is not among the entities of this simulation"
            raise ConfigError(f"{what}; add it to entities=[...]")
        return self._topics[entity]

    async def _keeper_of(self, number: int, entity: type[Entity]) -> Agent:
        """The keeper in the same service."""
        self.demand(entity)
        agent = self.keepers[entity][number - 1].agent
        if agent is None:
            raise NotAnswered("it is not running; nothing is wrong")
        return agent

    def _host(
        self, name: str, spec: AgentSpec, store: SimulatedStore | None = None, number: int = 1,
        topics: Collection[str] | None = None,
    ) -> Host:  # fmt: skip
        def strike(fault: Fault) -> bool:
            return host.strike(self._rng.choice(spec.actors).role, fault)

        async def world() -> World:
            its: World = LogWorld(self._log, topics=topics, effects=spec.effects)
            if spec.world is not of_the_board:
                its = await spec.world()
            its = FoldWorld(its, store, Asker(self._log, self.demand, partial(self._keeper_of, number), ASK_S))
            fated = FatedWorld(its, name, self.fates, strike, self._late, self._rng)
            self._worlds.append(fated)
            return fated

        host = self.hosts[name] = Host(self._simulation, lambda: dataclasses.replace(spec, world=world), lambda _: None)
        return host
