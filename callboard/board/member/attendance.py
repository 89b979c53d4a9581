"""Attends to one member of a cluster: takes its news, and answers with acknowledgements, properties and rejoining."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from callboard.actors.core.agent import Agent
from callboard.actors.topology.announcements.remote_cluster import RemoteCluster
from callboard.actors.topology.member import MemberSettings, roles
from callboard.backends.fence import Token
from callboard.board.context import BoardContext
from callboard.board.member.calling import Tasks, called, completed
from callboard.board.member.dispatch import Dispatch
from callboard.board.member.eviction import Eviction
from callboard.board.member.identity import Identity
from callboard.board.member.lapses import Lapses
from callboard.board.member.leadership import Lease, may_lead
from callboard.board.member.listening import Listening
from callboard.board.member.local_cluster import LocalCluster
from callboard.board.member.options import MemberPlan
from callboard.board.member.property_sources import PropertySources, Provider, changes
from callboard.board.member.topology_view import TopologyView
from callboard.errors import CallboardError, MembershipEnded, NotAnswered, TopicMissing
from callboard.logger import get_logger
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.question import A, Question
from callboard.messages.topology.cluster_state import EMPTY, Barrier, ClusterMember, Health
from callboard.messages.topology.member_mail import (
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    MemberProblem,
    WatchCluster,
)

WRITE_MS = 1000
"""Between two changes of properties: they describe an instance, and are not for sending data."""

ANSWER_S = 30.0
"""Seconds for an answer; the log may have to come back first."""


class Attendance:
    """Keeps a process in its cluster, in one incarnation after another, from ``begin`` to ``end``.

    Every answer to its question for news is also the sign of life without which the agent does not renew the lease.
    """

    def __init__(
        self, board: BoardContext, plan: MemberPlan, identity: Identity, listening: Listening,
        sources: PropertySources, now_ms: Callable[[], int],
    ) -> None:  # fmt: skip
        self._board, self._plan, self._identity = board, plan, identity
        self._listening, self._sources, self._now_ms = listening, sources, now_ms
        self.dispatch = Dispatch(listening, now_ms, plan.listener_timeout_s, self.review)
        self.agent: Agent
        self.settings: MemberSettings
        """Of the present incarnation."""
        self.news = ClusterNews(version=0, state=EMPTY)
        self.cluster = LocalCluster()
        self.says: tuple[Health, int] = Health.GOOD, 0
        self.remote: Callable[[], tuple[RemoteCluster, ...]] = tuple
        self.leases: set[Lease] = set()
        self.changed = asyncio.Event()
        """Set when anything has changed; then replaced by another one."""
        self.tasks = Tasks()
        self._process = os.getpid()
        self._written_ms = -WRITE_MS
        self._acknowledging = -1
        self._eviction, self._lapses = Eviction(identity.instance), Lapses(identity.instance)
        self._lapse: asyncio.TimerHandle | None = None
        self.ending: asyncio.Task[None]

    async def begin(self) -> None:
        """Join the cluster. Raises ``ConfigError`` if the board is not open."""
        try:
            _ = self._board.log  # raises: without a log, the agent would wait for one in silence
            await self._join(self._identity.previous)
        except BaseException:
            self._identity.close()
            raise
        self.ending = asyncio.create_task(self._attend())
        self.ending.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # for a waiter

    async def _join(self, previous: str = "") -> None:
        its, new_id, pairs = self._identity, self._board.new_id(), self._sources.pairs
        self.settings = replace(
            self._plan.agent, instance=its.instance, incarnation=new_id, previous=previous, properties=pairs
        )
        self.agent = await self._board.agents.member(self.settings)
        self.news, self._acknowledging = ClusterNews(version=0, state=EMPTY), -1
        self._eviction = Eviction(its.instance)
        try:
            await asyncio.to_thread(its.keep, new_id)
        except BaseException:
            await self.agent.stop(0)
            raise

    async def _attend(self) -> None:
        try:
            while True:
                with suppress(NotAnswered):  # its actor restarts; asked again, as long as the agent runs
                    self.take(await self.agent.ask(roles.VIEW_KEEPER, self._watch(), ANSWER_S))
                if self.agent.has_ended:
                    await self.agent.ended()
                    raise MembershipEnded("the member was stopped; start it again", code=MemberProblem.LEFT)
                problem = self.news.problem
                if problem == MemberProblem.EVICTED:
                    if self._eviction.is_over(self.news, self._now_ms(), self.settings.renew_ms):
                        await self._rejoin()
                elif problem and MemberProblem(problem).is_final:
                    raise MembershipEnded(self.news.detail, code=MemberProblem(problem))
        finally:
            self._listening.observe(None, self._now_ms(), agreed=False)
            self.news = ClusterNews(version=self.news.version, state=EMPTY)
            self.dispatch.pump()

    def _watch(self) -> WatchCluster:
        """The question for news later than what is known, answered at the latest after an interval of renewals."""
        (health, load), wait_ms = self.says, self.settings.renew_ms
        return WatchCluster(after=self.news.version, wait_ms=wait_ms, health=health, load_permille=load)

    async def _rejoin(self) -> None:
        """Join again as another incarnation, once nothing acts by the former one."""
        await self.agent.stop(0)
        await self.until(lambda: self._at_rest)
        await self._join()

    # News.

    @property
    def me(self) -> ClusterMember | None:
        """The present incarnation, if it is a member."""
        found = self.news.state.member(self.settings.instance)
        return found if found is not None and found.life == self.settings.life else None

    @property
    def has_own_properties(self) -> bool:
        """Whether the service's own properties are on the log."""
        return (me := self.me) is not None and not self._sources.lack_own(dict(me.properties))

    @property
    def standing(self) -> bool:
        """Whether this process may count on its lease now; a forked child may not."""
        return self.news.standing_until_ms > self._now_ms() and os.getpid() == self._process

    def take(self, news: ClusterNews) -> None:
        """Act on this news; again on the same at the end of the lease, or when remote clusters have changed."""
        self.news, now_ms = news, self._now_ms()
        view = self.cluster.take(news.state, news.log_id, self.settings.life)
        topology = TopologyView(local_cluster=view, remote=self.remote()) if view is not None else None
        agreed = self.standing and view is not None and view.settled
        self._listening.observe(topology, now_ms, agreed=agreed)
        if self._lapse is not None:
            self._lapse.cancel()
        if self.standing:
            left_s = (news.standing_until_ms - now_ms) / 1000
            self._lapse = asyncio.get_running_loop().call_later(left_s, self.take, news)
        self._lapses.note(news, standing=self.standing)
        self.dispatch.pump()

    def review(self) -> None:
        """Do what can be done now."""
        for lease in self.leases:
            if not self.holds(lease.token):
                lease.lost.set()
        if (me := self.me) is not None:
            view = self.news.state.view
            if me.acked < view.epoch != view.settled and self._acknowledging != view.epoch and self._at_rest:
                self._acknowledging = view.epoch
                self.tasks.begin("acknowledgement", self._acknowledge(view.epoch))
            put, unset = changes(dict(me.properties), self._sources.wanted())
            if (put or unset) and "properties" not in self.tasks and self._now_ms() - self._written_ms >= WRITE_MS:
                self._written_ms = self._now_ms()
                self.tasks.begin("properties", self._write(put, unset))
        before, self.changed = self.changed, asyncio.Event()
        before.set()

    @property
    def _at_rest(self) -> bool:
        """Whether nothing acts by a view that was current."""
        return self._listening.may_acknowledge and not self._ending_work

    @property
    def _ending_work(self) -> bool:
        """Whether the work of a lost lease goes on."""
        return any(lease.lost.is_set() for lease in self.leases)

    def poll(self, provider: Provider) -> None:
        """Ask the provider with every renewal, until its task is ended."""
        self.tasks.begin(provider, provider.poll(self._plan.agent.renew_ms / 1000, self.dispatch.pump))

    async def _ask(self, question: Question[A], timeout_s: float = ANSWER_S) -> A:
        return await self.agent.ask(roles.RENEWER, question, timeout_s)

    async def _acknowledge(self, epoch: int) -> None:
        log = get_logger().bind(epoch=epoch)
        try:
            if (backlog := self._plan.backlog) is not None:
                for barrier in await self._barriers():
                    await called(backlog, barrier)
            await self._ask(AcknowledgeView(epoch=epoch))
        except CallboardError as error:
            self._acknowledging = -1  # tried again with the next news
            log.warning("view.not_acknowledged", reason=str(error))
        except Exception as error:
            log.exception("backlog.failed", reason=f"{type(error).__name__}: {error}")
            await asyncio.sleep(self.settings.renew_ms / 1000)
            self._acknowledging = -1

    async def _barriers(self) -> tuple[Barrier, ...]:
        """Where the streams end that departed members wrote to. The record that removed them says so, unless it is a
        command: its author does not know the streams. Then they are what has been written by now.
        """
        state, log = self.news.state, self._board.log
        found = state.view.barriers
        if any(each.offset > state.view.settled for each in state.gone):
            for topic in set(self.settings.streams).difference(each.topic for each in found):
                with suppress(TopicMissing):
                    ends = (await log.bounds(topic)).end
                    found += (Barrier(topic=topic, log_id=await log.identity(topic), offset=ends),)
        return found

    async def _write(self, put: Pairs, unset: tuple[str, ...]) -> None:
        try:
            problem = (await self._ask(ChangeProperties(set=put, unset=unset))).problem
        except CallboardError as error:
            problem = str(error)
        if problem:
            get_logger().warning("properties.not_changed", reason=problem)

    # Leadership, waiting and the end.

    def may_lead(self) -> Token | None:
        """The token, if this process may begin to act as the leader. It may not while work of a lost lease goes on."""
        return None if self._ending_work else may_lead(self.cluster.view, standing=self.standing)

    def holds(self, token: Token) -> bool:
        """Whether this process still is the leader with this token."""
        return may_lead(self.cluster.view, standing=self.standing, held=token) == token

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait until the condition is met."""
        while not met():
            await self.changed.wait()

    async def wait(self, met: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait until the condition is met. Raises ``NotAnswered`` after the timeout, and what ended the membership."""
        waiting = asyncio.create_task(self.until(met))
        try:
            await asyncio.wait({waiting, self.ending}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return
        finally:
            waiting.cancel()
        if self.ending.done():
            await self.ended()
            raise MembershipEnded("the member was stopped")
        news = self.news
        why = f"{news.problem}: {news.detail}" if news.problem else f"it has read epoch {news.state.view.epoch}"
        raise NotAnswered(f"the topology is not {what} after {timeout_s:g} s; {why}")

    async def ended(self) -> None:
        """Wait until the membership has ended. Raises what ended it, unless it was stopped."""
        await asyncio.wait({self.ending})
        if not self.ending.cancelled():
            self.ending.result()

    async def end(self, reason: str, drain_s: float) -> None:
        """Stop acting, then leave the cluster. If a listener or a leader does not stop in time, the lease runs out
        instead: leaving would let the others go on too early.
        """
        self.ending.cancel()
        if self._lapse is not None:
            self._lapse.cancel()
        try:
            await asyncio.gather(self.ending, return_exceptions=True)
            async with asyncio.timeout(drain_s):
                await self.until(lambda: self._at_rest)
                if not self.agent.has_ended:
                    await self._ask(LeaveCluster(reason=reason), drain_s)
        except (TimeoutError, CallboardError) as error:
            why = str(error) or f"it still acted after {drain_s:g} s"
            get_logger().warning("member.not_left", instance=self._identity.instance, reason=why)
        finally:
            await completed(self._release())

    async def _release(self) -> None:
        await self.tasks.close()
        await self.dispatch.close()
        await self.agent.stop(0)
        self._identity.close()
