"""A cluster of member agents in the simulated runtime, each with a service that acknowledges every view."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import Append
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.topology.member import MemberSettings, actors
from callboard.actors.topology.member.roles import RENEWER, VIEW_KEEPER
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import CallboardError, LogUnavailable
from callboard.messages.question import Question
from callboard.messages.record import NewRecord, Record
from callboard.messages.topology.cluster_state import EMPTY, ClusterSettings, ClusterState
from callboard.messages.topology.member_mail import (
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    LeftCluster,
    MemberProblem,
    PropertiesChanged,
    WatchCluster,
)
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

TOPIC = "callboard.topology"
SETTINGS = ClusterSettings(cluster_id="blue")


class FaultyWorld:
    """A member's way to the log, which can be cut, or slow for appends."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_cut = False
        self.append_s = 0.0

    async def perform(self, effect: Perform) -> Any:
        self._check()
        if isinstance(effect, Append):
            await asyncio.sleep(self.append_s)
        result = await self._world.perform(effect)
        self._check()
        return result

    def move_to(self, log: MemoryLog) -> None:
        self._world = AgentWorld(log, MemoryBlobStore(lambda: 0), Path())

    def _check(self) -> None:
        if self.is_cut:
            raise LogUnavailable("the network is down")

    async def close(self) -> None:
        await self._world.close()


class Member:
    """A member agent, and its service: asks for news, acknowledges every view, and leads when it may."""

    def __init__(self, cluster: "Cluster", settings: MemberSettings) -> None:
        self.cluster, self.settings = cluster, settings
        self.world = FaultyWorld(AgentWorld(cluster.log, MemoryBlobStore(lambda: 0), cluster.folder))
        self.news = ClusterNews(version=0, state=EMPTY)
        self.acknowledges = True
        self._service: asyncio.Task[None] | None = None
        self.agent: Agent

    async def start(self) -> None:
        async def world() -> World:
            return self.world

        self.agent = await self.cluster.simulation.start(
            AgentSpec(self.settings.incarnation, actors(self.settings), world)
        )
        self.serve()

    def serve(self) -> None:
        self._service = self.cluster.simulation.loop.create_task(self._serve())

    def pause_service(self) -> None:
        assert self._service is not None
        self._service.cancel()

    async def _serve(self) -> None:
        acked = -1
        while True:
            self.news = await self.ask(VIEW_KEEPER, WatchCluster(after=self.news.version, wait_ms=1000))
            epoch = self.state.view.epoch
            if epoch != acked and self.acknowledges and self.settings.is_member(self.state):
                acked = epoch
                asyncio.ensure_future(self.ask(RENEWER, AcknowledgeView(epoch=epoch)))  # noqa: RUF006 - ends with it

    async def ask(self, role: str, question: Question[Any]) -> Any:
        while True:
            try:
                return await self.agent.ask(role, question, 5.0)
            except CallboardError:
                await asyncio.sleep(0.1)

    @property
    def state(self) -> ClusterState:
        return self.news.state

    @property
    def problem(self) -> MemberProblem | None:
        return MemberProblem(self.news.problem) if self.news.problem else None

    @property
    def order(self) -> str:
        return " ".join(member.instance for member in self.state.members)

    @property
    def stands(self) -> bool:
        return self.news.standing_until_ms > self.cluster.simulation.clock.now().mono_s * 1000

    @property
    def leads(self) -> bool:
        return self.stands and self.settings.leads(self.state)

    @property
    def is_settled(self) -> bool:
        return self.state.view.settled == self.state.view.epoch >= 0

    def leave(self) -> LeftCluster:
        left: LeftCluster = self.cluster.simulation.run(self.ask(RENEWER, LeaveCluster(reason="test")))
        return left

    def start_leaving(self) -> asyncio.Task[LeftCluster]:
        return self.cluster.simulation.loop.create_task(self.ask(RENEWER, LeaveCluster(reason="test")))

    def change(self, **properties: str) -> PropertiesChanged:
        asked = ChangeProperties(set=tuple(properties.items()))
        changed: PropertiesChanged = self.cluster.simulation.run(self.ask(RENEWER, asked))
        return changed

    def crash(self) -> None:
        self.pause_service()
        self.cluster.simulation.cut_off(self.agent)

    def kill(self, role: str) -> None:
        self.cluster.simulation.run(self.agent.kill(role))

    def suspend(self, seconds: float) -> None:
        self.cluster.simulation.suspend(self.agent, seconds)


class Cluster:
    """Members by name, on one log."""

    def __init__(self, folder: Path, seed: int = 1, settings: ClusterSettings = SETTINGS) -> None:
        self.simulation, self.folder, self.settings = Simulation(seed), folder, settings
        self.log = MemoryLog(lambda: self.simulation.clock.now().wall_ns, lambda: "original")
        self.members: list[Member] = []
        self.started: list[Member] = []
        self.lives = 0

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.simulation.close()

    def start(self, instance: str, incarnation: str = "", **options: Any) -> Member:
        options = {"founding": self.settings, **options}
        member = Member(
            self, MemberSettings(TOPIC, instance, incarnation or f"{instance}{len(self.started)}", **options)
        )
        self.members.append(member)
        self.started.append(member)
        self.simulation.run(member.start())
        return member

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

    def replace_log(self, kept: float, identity: str = "") -> None:
        """Replace the log by a copy of this share of its records, with another identity if none is given."""
        records = self.records()
        self.log = MemoryLog(lambda: self.simulation.clock.now().wall_ns, lambda: identity or "copy")
        self.simulation.run(self.log.ensure(TOPIC))
        copied = [NewRecord(payload=it.payload, headers=it.headers) for it in records[: int(len(records) * kept)]]
        self.simulation.run(self.log.append(TOPIC, copied))
        for member in self.members:
            member.world.move_to(self.log)

    def until(self, condition: Callable[[], bool], within_s: float = 60.0) -> float:
        """Let time pass until the condition holds; returns how long it took."""
        began_s = self.simulation.loop.time()
        self.simulation.run_until(condition, within_s)
        return self.simulation.loop.time() - began_s

    def pass_s(self, seconds: float) -> None:
        self.simulation.run_for(seconds)

    def agreed(self, order: str, *members: Member) -> Callable[[], bool]:
        """Whether all of these members see this order, settled."""
        return lambda: all(member.order == order and member.is_settled for member in members)
