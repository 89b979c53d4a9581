"""How long does a cluster of three take to agree again when its leader crashes, and when it leaves?

Usage: ``python benchmarks/membership.py [--quick]``, two minutes. All members are in this process, each with its own
handle on a log in SQLite. What is measured is the time until both others have read the view as settled.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from report import Report, quick

from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.runtime import start_agent
from callboard.actors.topology.member import MemberSettings, actors
from callboard.actors.topology.member.roles import RENEWER, VIEW_KEEPER
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.topology.cluster_state import EMPTY, ClusterSettings, ClusterState
from callboard.messages.topology.member_mail import AcknowledgeView, LeaveCluster, WatchCluster
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

PROFILES = {
    "default (renew 2 s, lease 10 s)": (2_000, ClusterSettings(cluster_id="c")),
    "fast (renew 0.5 s, lease 2.5 s)": (
        500, ClusterSettings(cluster_id="c", lease_ms=2_500, gap_ms=1_250, ack_deadline_ms=2_500)),
}  # fmt: skip
WAIT_S = 60.0


class Member:
    """A member, and a service that acknowledges every view at once."""

    agent: Agent
    state: ClusterState = EMPTY

    def __init__(self, instance: str, renew_ms: int, founding: ClusterSettings) -> None:
        self.settings = MemberSettings("callboard.topology", instance, f"{instance}1", founding, renew_ms=renew_ms)

    async def start(self, folder: Path, stack: AsyncExitStack) -> None:
        """Run it until the stack is closed."""
        async def world() -> World:
            return AgentWorld(SqliteLog(folder), MemoryBlobStore(time.time_ns), folder, owned=True)

        self.agent = await start_agent(AgentSpec(self.settings.incarnation, actors(self.settings), world))
        stack.push_async_callback(self.agent.stop, 1.0)
        self.watching = asyncio.create_task(self.watch())
        stack.callback(self.watching.cancel)

    async def watch(self) -> None:
        """Read the news, and acknowledge every view."""
        version = acked = -1
        while True:
            news = await self.ask(VIEW_KEEPER, WatchCluster(after=version, wait_ms=1000))
            version, self.state = news.version, news.state
            if self.state.view.epoch != acked and self.settings.is_member(self.state):
                acked = self.state.view.epoch
                await self.ask(RENEWER, AcknowledgeView(epoch=acked))

    async def ask(self, role: str, question: Any) -> Any:
        """The answer of an actor."""
        return await self.agent.ask(role, question, WAIT_S)

    def sees(self, count: int) -> bool:
        """Whether its view is settled, with this number of members."""
        view = self.state.view
        return len(self.state.members) == count and view.settled == view.epoch

    async def crash(self) -> None:
        """End without a word."""
        self.watching.cancel()
        await self.agent.stop(0)

    async def leave(self) -> None:
        """Leave the cluster."""
        await self.ask(RENEWER, LeaveCluster())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110 - what other actors do can only be polled
            await asyncio.sleep(0.002)


async def measured(profile: str, how: str, pause_s: float) -> float:
    """Seconds from the crash or the leave of the leader until the others agree. ``pause_s`` is how long all run before,
    so that the crash comes at any moment between two renewals.
    """
    renew_ms, founding = PROFILES[profile]
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            members = [Member(name, renew_ms, founding) for name in "abc"]
            for number, member in enumerate(members):
                await member.start(Path(folder), stack)
                await until(lambda count=number + 1: all(each.sees(count) for each in members[:count]))
            await asyncio.sleep(pause_s)
            leader, *others = members
            started = time.perf_counter()
            gone = asyncio.create_task(leader.crash() if how == "crash" else leader.leave())
            await until(lambda: all(each.sees(2) for each in others))
            took = time.perf_counter() - started
            await gone
            return took


def main(count: int) -> None:
    report = Report("membership")
    for profile, (renew_ms, _) in PROFILES.items():
        for how in ("crash", "leave"):
            pauses = [renew_ms / 1000 * (1 + number / count) for number in range(count)]
            took = [asyncio.run(measured(profile, how, pause_s)) for pause_s in pauses]
            report.row(f"{how} of the leader, {profile}", took, unit="s", note="less is better")
    report.write()


if __name__ == "__main__":
    main(2 if quick() else 5)
