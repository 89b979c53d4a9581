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
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import CallboardError, LogUnavailable
from callboard.messages.question import Question
from callboard.messages.topology.cluster_state import EMPTY, ClusterSettings, ClusterState
from callboard.messages.topology.member_mail import (
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    LeftCluster,
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
        self._service = asyncio.ensure_future(self._serve())

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
        self.new_log()
        self.members: list[Member] = []

    def new_log(self) -> None:
        self.log = MemoryLog(lambda: self.simulation.clock.now().wall_ns, lambda: f"log-{self.simulation.steps}")

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.simulation.close()

    def start(self, instance: str, incarnation: str = "", **options: Any) -> Member:
        options = {"founding": self.settings, **options}
        member = Member(
            self, MemberSettings(TOPIC, instance, incarnation or f"{instance}{len(self.members)}", **options)
        )
        self.members.append(member)
        self.simulation.run(member.start())
        return member

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
