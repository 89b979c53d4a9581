"""A cluster of member agents in the simulated runtime."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from callboard.actors.core.agent import AgentSpec, Clock, World
from callboard.actors.core.decision import Moment, Perform
from callboard.actors.core.effects import Append
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.topology.member import MemberSettings, actors
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import LogUnavailable
from callboard.messages.record import NewRecord, Record
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.messages.topology.member_mail import LeftCluster
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from tests.simulation.topology.service import Service

TOPIC = "callboard.topology"
SETTINGS = ClusterSettings(cluster_id="blue")


class FaultyWorld:
    """A member's way to the log, which can be cut, or slow for appends."""

    def __init__(self, log: Log) -> None:
        self.is_cut = False
        self.append_s = 0.0
        self.move_to(log)

    def move_to(self, log: Log) -> None:
        self._world = AgentWorld(log, MemoryBlobStore(lambda: 0), Path())

    async def perform(self, effect: Perform) -> Any:
        self._check()
        if isinstance(effect, Append):
            await asyncio.sleep(self.append_s)
        result = await self._world.perform(effect)
        self._check()
        return result

    def _check(self) -> None:
        if self.is_cut:
            raise LogUnavailable("the network is down")

    async def close(self) -> None:
        await self._world.close()


class DriftingClock:
    """A host's clock, which may be fast. It cannot be slow: the loop would wake an actor before its timer is due."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self._clock, self.rate = clock, rate

    def now(self) -> Moment:
        wall_ns, mono_s = self._clock.now()
        return Moment(wall_ns, mono_s * self.rate)


class Member(Service):
    """A member agent, its service, and what can happen to them."""

    def __init__(self, cluster: "Cluster", settings: MemberSettings, rate: float = 1.0) -> None:
        self.clock = DriftingClock(cluster.simulation.clock, rate)
        super().__init__(settings, lambda: self.clock.now().mono_s)
        self.simulation = cluster.simulation
        self.world = FaultyWorld(cluster.log)

    async def start(self) -> None:
        async def world() -> World:
            return self.world

        spec = AgentSpec(self.settings.incarnation, actors(self.settings), world)
        self.agent = await self.simulation.start(spec, clock=self.clock)
        self.watch()

    def watch(self) -> None:
        self.serve(self.simulation.loop)

    def start_leaving(self) -> asyncio.Task[LeftCluster]:
        return self.simulation.loop.create_task(self.leave())

    def crash(self) -> None:
        self.pause()
        self.simulation.cut_off(self.agent)

    def kill(self, role: str) -> None:
        self.simulation.run(self.agent.kill(role))

    def suspend(self, seconds: float) -> None:
        self.simulation.suspend(self.agent, seconds)


class Cluster:
    """Members on one log, whose clock may be fast. ``members`` can be changed by a test; ``started`` are all."""

    def __init__(self, seed: int = 1, settings: ClusterSettings = SETTINGS, log_rate: float = 1.0) -> None:
        self.simulation, self.settings, self._log_rate = Simulation(seed), settings, log_rate
        self.log = self._new_log("original")
        self.members: list[Member] = []
        self.started: list[Member] = []

    def _new_log(self, identity: str) -> MemoryLog:
        clock = DriftingClock(self.simulation.clock, self._log_rate)
        return MemoryLog(lambda: int(clock.now().mono_s * 1e9), lambda: identity)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.simulation.close()

    def start(self, instance: str, incarnation: str = "", rate: float = 1.0, **options: Any) -> Member:
        incarnation = incarnation or f"{instance}{len(self.started)}"
        settings = MemberSettings(TOPIC, instance, incarnation, **{"founding": self.settings, **options})
        member = Member(self, settings, rate)
        self.members.append(member)
        self.started.append(member)
        self.simulation.run(member.start())
        return member

    # The log.

    def records(self) -> list[Record]:
        async def all_records() -> list[Record]:
            await self.log.ensure(TOPIC)
            first, _ = await self.log.bounds(TOPIC)
            return await self.log.read(TOPIC, first, max_records=100_000, max_bytes=1 << 30)

        return self.simulation.run(all_records())

    def append(self, record: NewRecord) -> None:
        self.simulation.run(self.log.append(TOPIC, [record]))

    def trim(self, below: int) -> None:
        self.simulation.run(self.log.trim(TOPIC, Retention(below_offset=below)))

    def replace_log(self, kept: float, identity: str = "copy") -> None:
        """Replace the log by a copy of this share of its records."""
        records = self.records()
        self.log = self._new_log(identity)
        self.simulation.run(self.log.ensure(TOPIC))
        copied = [NewRecord(payload=it.payload, headers=it.headers) for it in records[: int(len(records) * kept)]]
        self.simulation.run(self.log.append(TOPIC, copied))
        for member in self.members:
            member.world.move_to(self.log)

    # Time.

    def until(self, condition: Callable[[], bool], within_s: float = 60.0) -> float:
        """Let time pass until the condition holds; returns how long it took."""
        began_s = self.simulation.loop.time()
        self.simulation.run_until(condition, within_s)
        return self.simulation.loop.time() - began_s

    def pass_s(self, seconds: float) -> None:
        self.simulation.run_for(seconds)
