"""The service of a member, in simulations and tests: it watches its cluster, tells listeners, acknowledges views."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from callboard.actors.core.agent import Agent
from callboard.actors.topology.announcements.remote_cluster import RemoteCluster
from callboard.actors.topology.cluster_view import ClusterView, view_of
from callboard.actors.topology.member import MemberSettings
from callboard.actors.topology.member.roles import RENEWER, VIEW_KEEPER
from callboard.backends.fence import Token
from callboard.board.member import leadership
from callboard.board.member.dispatch import Dispatch
from callboard.board.member.listening import Listening
from callboard.board.member.topology_view import TopologyView, alone
from callboard.errors import CallboardError
from callboard.messages.question import Question
from callboard.messages.topology.cluster_state import EMPTY, Barrier, ClusterState
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

ANSWER_S = 30.0
"""Seconds for an acknowledgement to be read back; the log may have to come back first."""

LISTENER_S = 5.0
"""After this time a listener is cancelled."""


class Service:
    """What one service knows of its cluster, and tells its listeners, as ``Attendance`` does.

    ``now_s`` is the monotonic clock of the agent's runtime. The ``listening`` is that of the former incarnation, if the
    process was evicted.
    """

    def __init__(
        self, settings: MemberSettings, now_s: Callable[[], float], listening: Listening | None = None
    ) -> None:
        self.settings, self._now_s = settings, now_s
        self.news = ClusterNews(version=0, state=EMPTY)
        self.view: ClusterView | None = None
        self.acknowledges = True
        self.remote: tuple[RemoteCluster, ...] = ()
        self.listening = listening or Listening(alone(settings))
        self.dispatch = Dispatch(self.listening, self._now_ms, LISTENER_S, self._review)
        self._held: Token | None = None
        self._acknowledging: tuple[int, float, asyncio.Task[None]] | None = None
        self._lapse: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.agent: Agent

    def serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to watch."""
        self._acknowledging = None
        self.begin(loop, self._serve())

    def begin(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do this until the service hangs or ends. What it raises is told to the loop's exception handler."""
        task = loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def pause(self) -> None:
        """Stop watching: the service hangs."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        if self._lapse is not None:
            self._lapse.cancel()

    async def _serve(self) -> None:
        while True:
            self.take(await self.ask(VIEW_KEEPER, WatchCluster(after=self.news.version, wait_ms=WAIT_MS)))

    def take(self, news: ClusterNews) -> None:
        """Tell the listeners; again at the end of the lease."""
        seen = view_of(news.state, news.log_id, self.settings.life)
        self.news, self.view = news, seen if seen is not None and seen.local is not None else None
        agreed = self.stands and self.view is not None and self.view.settled
        topology = TopologyView(local_cluster=self.view, remote=self.remote) if self.view is not None else None
        self.listening.observe(topology, self._now_ms(), agreed=agreed)
        self._held = leadership.may_lead(self.view, standing=self.stands, held=self._held)
        if self._lapse is not None:
            self._lapse.cancel()
        if self.stands:
            left_s = (news.standing_until_ms - self._now_ms()) / 1000
            self._lapse = asyncio.get_running_loop().call_later(left_s, self.take, news)
        self.dispatch.pump()

    def use_remote(self, remote: tuple[RemoteCluster, ...]) -> None:
        """These are the other clusters now."""
        self.remote = remote
        self.take(self.news)

    def _review(self) -> None:
        """Acknowledge the view, once no listener acts by a former one."""
        me, view = self.state.member(self.settings.instance), self.state.view
        if me is None or me.life != self.settings.life or not me.acked < view.epoch != view.settled:
            return
        begun = self._acknowledging is not None and self._acknowledging[0] == view.epoch
        if self.acknowledges and self.listening.may_acknowledge and not begun:
            if self._acknowledging is not None:
                self._acknowledging[2].cancel()
            task = self.begin(asyncio.get_running_loop(), self._acknowledge(view.epoch))
            self._acknowledging = view.epoch, self._now_s(), task

    async def _acknowledge(self, epoch: int) -> None:
        for barrier in self.state.view.barriers:
            await self.read_up_to(barrier)
        await self.ask(RENEWER, AcknowledgeView(epoch=epoch), ANSWER_S)

    def acknowledges_for_s(self, epoch: int) -> float:
        """For how long it has been asking to acknowledge this view."""
        begun = self._acknowledging
        return self._now_s() - begun[1] if begun is not None and begun[0] == epoch else 0.0

    async def read_up_to(self, barrier: Barrier) -> None:
        """Read what departed members wrote to this topic."""

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)

    async def ask(self, role: str, question: Question[Any], timeout_s: float = 5.0) -> Any:
        """Ask until there is an answer."""
        while True:
            try:
                return await self.agent.ask(role, question, timeout_s)
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
        return self.news.standing_until_ms > self._now_ms()

    @property
    def leads(self) -> bool:
        """Whether the service believes that it leads."""
        return leadership.may_lead(self.view, standing=self.stands, held=self._held) is not None

    @property
    def is_settled(self) -> bool:
        """Whether the view is settled."""
        return self.state.view.settled == self.state.view.epoch >= 0


def agreed(order: str, *services: Service) -> Callable[[], bool]:
    """Whether all of these see this order, settled."""
    return lambda: all(each.order == order and each.is_settled for each in services)
