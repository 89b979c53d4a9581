"""A cluster of member agents in the simulated runtime."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from callboard.actors.core.agent import AgentSpec, Clock, World
from callboard.actors.core.decision import Moment, Perform
from callboard.actors.core.effects import Append, FindBounds, ReadLog
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.topology.member import MemberSettings, actors
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.restorable import Returned
from callboard.errors import CallboardError, LogUnavailable
from callboard.messages.record import NewRecord, Record
from callboard.messages.topology.cluster_state import Barrier, ClusterSettings
from callboard.messages.topology.member_mail import LeftCluster
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.simulation.topology.audience import Audience, Hearing, Listened

TOPIC = "callboard.topology"
SETTINGS = ClusterSettings(cluster_id="blue")


class FaultyWorld:
    """A host's way to the log, which can be cut, or slow, and may repeat what it appends.

    Args:
        log: the log.
        dating: called before each append, with ``skew_s``: the log may go by the writers' clocks.
    """

    def __init__(self, log: Log, dating: Callable[[float], None] = lambda _: None) -> None:
        self.is_cut = False
        self.append_s = self.read_s = self.skew_s = 0.0
        self.repeats_after_s: list[float] = []
        """Each of the next appends is repeated after this number of seconds."""
        self._dating = dating
        self._repeating: set[asyncio.Task[None]] = set()
        self.move_to(log)

    def move_to(self, log: Log) -> None:
        """Use this log from now on."""
        self._world = AgentWorld(log, MemoryBlobStore(lambda: 0), Path())

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        self._check()
        if isinstance(effect, Append):
            await _pass(self.append_s)
            if self.repeats_after_s:
                self._repeating.add(asyncio.ensure_future(self._repeat(effect, self.repeats_after_s.pop())))
        self._dating(self.skew_s)
        result = await self._world.perform(effect)
        if isinstance(effect, ReadLog):
            await _pass(self.read_s)
        self._check()
        return result

    async def _repeat(self, effect: Append, after_s: float) -> None:
        await asyncio.sleep(after_s)
        with suppress(CallboardError):
            self._dating(self.skew_s)
            await self._world.perform(effect)

    def _check(self) -> None:
        if self.is_cut:
            raise LogUnavailable("the network is down")

    async def close(self) -> None:
        """See ``World``."""
        await self._world.close()


async def _pass(seconds: float) -> None:
    if seconds:  # else it would cost a turn of the loop
        await asyncio.sleep(seconds)


class DriftingClock:
    """A host's clock, which is slow or fast."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self._clock, self._rate = clock, rate

    def now(self) -> Moment:
        """See ``Clock``."""
        wall_ns, mono_s = self._clock.now()
        return Moment(wall_ns, mono_s * self._rate)


class Member(Listened):
    """A member agent, its service, and what can happen to them."""

    def __init__(
        self, cluster: "Cluster", settings: MemberSettings, rate: float, world: FaultyWorld, former: Listened | None
    ) -> None:
        self.clock, self.rate = DriftingClock(cluster.simulation.clock, rate), rate
        super().__init__(settings, lambda: self.clock.now().mono_s, former.listening if former else None)
        self.simulation, self.world = cluster.simulation, world
        self.hearings = list(former.hearings) if former else []
        for hearing in self.hearings:
            hearing.service = self
        self.has_read = former.has_read if former else 0
        self._written: list[int] | None = []  # None when it leaves, as it stops acting before

    def listen(self, audience: Audience, rng: Random) -> None:
        """Add listeners: one at once, one that is told later, and one that comes late."""
        audience.services.append(self)
        self._written = audience.written.setdefault(self.settings.life, [])
        if self.hearings:
            return
        self.hearings = [Hearing(self, audience, rng, critical) for critical in (True, False, True)]
        first, second, third = self.hearings
        self.listening.bind(first.hear)
        self.listening.bind(second.hear, critical=False, not_before_ms=self._now_ms() + rng.choice([0, 5000]))
        self.simulation.loop.call_later(rng.uniform(1, 12), self.listening.bind, third.hear)

    def write(self) -> None:
        """Write to the stream."""
        self.begin(self.simulation.loop, self._write())

    async def _write(self) -> None:
        record = NewRecord(payload=b"data")
        with suppress(CallboardError):
            (offset,) = await self.world.perform(Append(self.settings.streams[0], (record,)))
            if self.stands and self._written is not None:
                self._written.append(offset)

    async def read_up_to(self, barrier: Barrier) -> None:
        """See ``Service``."""
        while self.has_read < barrier.offset:
            with suppress(CallboardError):
                await self.world.perform(FindBounds(barrier.topic))
                self.has_read = max(self.has_read, barrier.offset)
            await asyncio.sleep(0.1)

    async def start(self) -> None:
        """Start the agent and the service."""

        async def world() -> World:
            return self.world

        spec = AgentSpec(self.settings.incarnation, actors(self.settings), world)
        self.agent = await self.simulation.start(spec, clock=self.clock, pace=self.rate)
        self.watch()

    def watch(self) -> None:
        """Let the service watch, from the start or after a ``pause``."""
        self.serve(self.simulation.loop)

    def start_leaving(self) -> asyncio.Task[LeftCluster]:
        """Begin to leave."""
        self._written = None
        return self.begin(self.simulation.loop, self.leave())

    def describe(self, colour: str) -> None:
        """Begin to change a property."""
        self.begin(self.simulation.loop, self.change(colour=colour))

    def crash(self) -> None:
        """End the process."""
        self.pause()
        self.simulation.run(self.dispatch.close())
        self.simulation.cut_off(self.agent)

    def kill(self, role: str) -> None:
        """Kill an actor of the agent."""
        self.simulation.run(self.agent.kill(role))

    def suspend(self, seconds: float) -> None:
        """Suspend the process."""
        self.simulation.suspend(self.agent, seconds)


class Cluster:
    """Members on one log. ``members`` can be changed by its user; ``started`` are all."""

    def __init__(
        self, seed: int = 1, settings: ClusterSettings = SETTINGS, simulation: Simulation | None = None
    ) -> None:
        self.simulation, self.settings = simulation or Simulation(seed), settings
        self.jump_s = self._skew_s = 0.0
        self.log = self._new_log("original")
        self.members: list[Member] = []
        self.started: list[Member] = []
        self.errors: list[dict[str, Any]] = []
        """What services raised, as the loop's exception handler is told."""
        self.simulation.loop.set_exception_handler(lambda _, error: self.errors.append(error))
        self.instances: set[str] = set()
        """Of all members that were ever started."""

    def _new_log(self, identity: str) -> MemoryLog:
        return MemoryLog(self._time_ns, lambda: identity)

    def _time_ns(self) -> int:
        """The clock of the log, which may have jumped, or of the writer."""
        return self.simulation.clock.now().wall_ns + int((self.jump_s + self._skew_s) * 1e9)

    def _dating(self, skew_s: float) -> None:
        self._skew_s = skew_s

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.simulation.close()

    def way_to_log(self) -> FaultyWorld:
        """The way to the log of another host."""
        return FaultyWorld(self.log, self._dating)

    def start(
        self, instance: str, incarnation: str = "", rate: float = 1.0, world: FaultyWorld | None = None,
        former: Listened | None = None, **options: Any,
    ) -> Member:  # fmt: skip
        """Start a member, in the process of the ``former`` if given. ``options`` are its settings."""
        incarnation = incarnation or f"{instance}{len(self.started)}"
        settings = MemberSettings(TOPIC, instance, incarnation, **{"founding": self.settings, **options})
        member = Member(self, settings, rate, world or self.way_to_log(), former)
        self.instances.add(instance)
        self.members.append(member)
        self.started.append(member)
        self.simulation.run(member.start())
        return member

    # The log.

    def records(self, after: int = 0) -> list[Record]:
        """The records on the log after this offset."""

        async def all_records() -> list[Record]:
            await self.log.ensure(TOPIC)
            first, _ = await self.log.bounds(TOPIC)
            return await self.log.read(TOPIC, max(first, after + 1), max_records=100_000, max_bytes=1 << 30)

        try:  # nothing in it waits, so that it needs no turn of the loop
            all_records().send(None)
        except StopIteration as found:
            return list(found.value)
        raise AssertionError("the log in memory waits for nothing")

    def append(self, record: NewRecord) -> None:
        """Append a record of another sender."""
        self.simulation.run(self.log.append(TOPIC, [record]))

    def ensure(self, topic: str) -> None:
        """Create a topic."""
        self.simulation.run(self.log.ensure(topic))

    def trim(self, below: int) -> None:
        """Remove the records below this offset."""
        self.simulation.run(self.log.trim(TOPIC, Retention(below_offset=below)))

    def replace_log(self, kept: float, identity: str = "copy") -> None:
        """Replace the log by a copy of this share of its records."""
        records = self.records()
        copied = records[: int(len(records) * kept)]
        self.log = self._new_log(identity)
        self.simulation.run(self.log.ensure(TOPIC))
        self.simulation.run(self.log.put_back(TOPIC, [Returned(record, None) for record in copied]))
        for member in self.members:
            member.world.move_to(self.log)

    # Time.

    def until(self, condition: Callable[[], bool], within_s: float = 60.0) -> float:
        """Let time pass until the condition holds; returns how long it took."""
        began_s = self.simulation.loop.time()
        self.simulation.run_until(condition, within_s)
        return self.simulation.loop.time() - began_s

    def pass_s(self, seconds: float) -> None:
        """Let this much time pass."""
        self.simulation.run_for(seconds)
