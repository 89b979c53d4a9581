"""The service of a member, in simulations and tests: it watches the cluster and acknowledges every view."""

import asyncio
from collections.abc import Callable
from typing import Any

from callboard.actors.core.agent import Agent
from callboard.actors.topology.member import MemberSettings
from callboard.actors.topology.member.roles import RENEWER, VIEW_KEEPER
from callboard.errors import CallboardError
from callboard.messages.question import Question
from callboard.messages.topology.cluster_state import EMPTY, ClusterState
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

WAIT_MS = 1000


class Service:
    """What one service knows of its cluster.

    ``now_s`` is the monotonic clock of the agent's runtime.
    """

    def __init__(self, settings: MemberSettings, now_s: Callable[[], float]) -> None:
        self.settings, self._now_s = settings, now_s
        self.news = ClusterNews(version=0, state=EMPTY)
        self.acknowledges = True
        self._tasks: set[asyncio.Task[Any]] = set()
        self.agent: Agent

    def serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to watch."""
        self._tasks.add(loop.create_task(self._serve()))

    def pause(self) -> None:
        """Stop watching: the service hangs."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    async def _serve(self) -> None:
        acked = -1
        while True:
            self.news = await self.ask(VIEW_KEEPER, WatchCluster(after=self.news.version, wait_ms=WAIT_MS))
            epoch = self.state.view.epoch
            if epoch != acked and self.acknowledges and self.settings.is_member(self.state):
                acked = epoch
                self._tasks.add(asyncio.ensure_future(self.ask(RENEWER, AcknowledgeView(epoch=epoch))))

    async def ask(self, role: str, question: Question[Any]) -> Any:
        """Ask until there is an answer."""
        while True:
            try:
                return await self.agent.ask(role, question, 5.0)
            except CallboardError:
                await asyncio.sleep(0.1)

    async def leave(self) -> LeftCluster:
        """Leave the cluster."""
        left: LeftCluster = await self.ask(RENEWER, LeaveCluster(reason="test"))
        return left

    async def change(self, **properties: str) -> PropertiesChanged:
        """Change properties."""
        asked = ChangeProperties(set=tuple(properties.items()))
        changed: PropertiesChanged = await self.ask(RENEWER, asked)
        return changed

    @property
    def state(self) -> ClusterState:
        """The cluster as the service knows it."""
        return self.news.state

    @property
    def problem(self) -> MemberProblem | None:
        """Why the member has no standing."""
        return MemberProblem(self.news.problem) if self.news.problem else None

    @property
    def order(self) -> str:
        """The instances in their order."""
        return " ".join(member.instance for member in self.state.members)

    @property
    def stands(self) -> bool:
        """Whether the service may count on the lease."""
        return self.news.standing_until_ms > self._now_s() * 1000

    @property
    def leads(self) -> bool:
        """Whether the service believes that it leads."""
        return self.stands and self.settings.leads(self.state)

    @property
    def is_settled(self) -> bool:
        """Whether the view is settled."""
        return self.state.view.settled == self.state.view.epoch >= 0


def agreed(order: str, *services: Service) -> Callable[[], bool]:
    """Whether all of these see this order, settled."""
    return lambda: all(each.order == order and each.is_settled for each in services)
