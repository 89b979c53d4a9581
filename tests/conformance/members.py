"""Members on a log, in real time, as every log must support them. Leases are short; speed is not asserted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from callboard.actors.core.agent import AgentSpec, World
from callboard.actors.runtime import SystemClock, start_agent
from callboard.actors.topology.member import MemberSettings, actors
from callboard.backends.log import Log
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.messages.topology.control_messages import LeaveMessage
from callboard.messages.topology.member_mail import MemberProblem
from callboard.messages.topology.reading import read
from callboard.testing.conformance.log import LogHarness
from callboard.testing.conformance.log.harness import read_all
from callboard.testing.simulation.topology.cluster import TOPIC, FaultyWorld
from callboard.testing.simulation.topology.service import Service, agreed

PATIENCE_S = 60.0
"""Far beyond what anything here takes, so that only a defect meets it."""

QUICK = ClusterSettings(cluster_id="blue", lease_ms=2_500, gap_ms=1_250, ack_deadline_ms=2_500)


Open = Callable[[], Log]
"""Opens a handle on the log under test."""


class Member(Service):
    """A member with its own handle."""

    world: FaultyWorld


class Cluster:
    """Starts members on a log."""

    def __init__(self, open_log: Open, topic: str, stack: AsyncExitStack) -> None:
        self._open_log, self.topic, self._stack = open_log, topic, stack

    def log(self) -> Log:
        log = self._open_log()
        self._stack.push_async_callback(log.close)
        return log

    async def start(self, instance: str, incarnation: str = "", **options: Any) -> Member:
        log = self.log()
        life = incarnation or f"{instance}1"
        its = {"founding": QUICK, "renew_ms": 400} | options
        settings = MemberSettings(self.topic, instance, life, **its)
        member = Member(settings, lambda: SystemClock().now().mono_s)
        member.world = FaultyWorld(log)

        async def world() -> World:
            return member.world

        member.agent = await start_agent(AgentSpec(settings.incarnation, actors(settings), world))
        self._stack.push_async_callback(member.agent.stop, 1.0)
        self._stack.callback(member.pause)
        member.serve(asyncio.get_running_loop())
        return member


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what other actors do can only be polled
            await asyncio.sleep(0.02)


@asynccontextmanager
async def cluster_on(open_log: Open, topic: str = TOPIC) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        yield Cluster(open_log, topic, stack)


async def three_join_one_leaves_and_one_is_cut_off(open_log: Open, topic: str = TOPIC) -> None:
    async with cluster_on(open_log, topic) as cluster:
        a = await cluster.start("a")
        await until(lambda: a.leads)
        b = await cluster.start("b")
        await until(agreed("a b", a, b))
        c = await cluster.start("c", snapshot_every=5)
        await until(agreed("a b c", a, b, c))

        await b.change(role="search")
        await until(lambda: any(member.properties == (("role", "search"),) for member in c.state.members))

        await a.leave()
        await until(agreed("b c", b, c))
        await until(lambda: b.leads and a.problem is MemberProblem.LEFT)

        b.world.is_cut = True
        await until(agreed("c", c))
        assert not b.stands
        b.world.is_cut = False
        await until(lambda: b.problem is MemberProblem.EVICTED)

        await until(lambda: c.leads and c.state.snapshot >= 0)
        d = await cluster.start("a", "a2", snapshot_every=5)
        await until(agreed("c a", c, d))

        events = [read(record) for record in await read_all(cluster.log(), topic)]
        assert sum(isinstance(event, LeaveMessage) for event in events) == 1


async def a_replaced_topic_ends_the_standing(harness: LogHarness) -> None:
    assert harness.replace is not None
    log, other = await harness.open(), await harness.open()
    async with cluster_on(lambda: log) as cluster:
        a = await cluster.start("a")
        await until(lambda: a.leads)

        await harness.replace(other, cluster.topic)

        await until(lambda: a.problem is MemberProblem.LOG_REPLACED)
        assert not a.stands
    await other.close()


async def a_restarted_server_costs_no_view(open_log: Open, restart: Callable[[], Awaitable[None]]) -> None:
    patient = ClusterSettings(cluster_id="blue")
    async with cluster_on(open_log) as cluster:
        a = await cluster.start("a", founding=patient)
        await until(lambda: a.leads)
        b = await cluster.start("b", founding=patient)
        await until(agreed("a b", a, b))
        epoch, until_ms = a.state.view.epoch, a.news.standing_until_ms

        await restart()

        await until(lambda: min(each.news.standing_until_ms for each in (a, b)) > until_ms + 5_000)
        assert [a.state.view.epoch, b.state.view.epoch] == [epoch, epoch]
        assert [a.problem, b.problem] == [None, None]
