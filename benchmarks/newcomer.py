"""How long does a newcomer take to its first view of a cluster whose control topic is old?

Usage: ``python benchmarks/newcomer.py [--quick]``, 4 minutes. A topic in SQLite gets up to a million renewals, and a
snapshot after each thousand of them, as from a leader. Measured is the time from the start of a member agent to the
first view that it can show: with the whole topic, and after it was trimmed to its last snapshot.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from report import Report, quick
from topology import founding

from callboard.actors.core.agent import AgentSpec, World
from callboard.actors.runtime import start_agent
from callboard.actors.topology.cluster_fold import ClusterFold, forget
from callboard.actors.topology.member import MemberSettings, actors
from callboard.actors.topology.member.roles import VIEW_KEEPER
from callboard.actors.topology.member.settings import SNAPSHOT_EVERY
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.log import Retention
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.headers import new_record
from callboard.messages.topics import control_topic
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.messages.topology.control_messages import RenewMessage, SnapshotMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import WatchCluster
from callboard.messages.topology.state_hash import state_hash
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

TOPIC = control_topic()
ROUNDS = 5
ANSWER_S = 60.0
RENEWALS = {5: 1_000_000, 200: 100_000, 1000: 10_000}
"""By the number of members: a snapshot of 1,000 takes 400 kB."""
MS_BETWEEN = 1000


def parts(members: int, renewals: int, offset: int, now_ms: int) -> Iterator[list[MemberEvent]]:
    """The messages of the topic from this offset on, a part at a time; each part is appended at one time."""
    fold = ClusterFold()
    part = founding(members)
    seq = 1
    for _ in range(renewals // SNAPSHOT_EVERY + 1):
        for event in part:
            assert fold.step(offset, now_ms, event).accepted
            offset += 1
        yield part
        now_ms += MS_BETWEEN
        part = [SnapshotMessage(instance="host-0", incarnation="life-0", seq=seq + 1, state=fold.state,
                                state_hash=state_hash(fold.state))]  # fmt: skip
        for number in range(SNAPSHOT_EVERY):
            seq += number % members == 0
            host = number % members
            part.append(RenewMessage(instance=f"host-{host}", incarnation=f"life-{host}", seq=seq + 1, read_to=offset))
        seq += 1


async def first_view(folder: Path, number: int) -> float:
    """Seconds from the start of a newcomer to its first view."""

    async def world() -> World:
        return AgentWorld(SqliteLog(folder), MemoryBlobStore(time.time_ns), folder, owned=True)

    settings = MemberSettings(TOPIC, f"new-{number}", "1", ClusterSettings(cluster_id="c"))
    forget()  # it starts in a process of its own
    started = time.perf_counter()
    agent = await start_agent(AgentSpec(settings.instance, actors(settings), world))
    try:
        version = 0
        while True:
            news = await agent.ask(VIEW_KEEPER, WatchCluster(after=version, wait_ms=1000), ANSWER_S)
            version = news.version
            if news.state.members:
                return time.perf_counter() - started
    finally:
        await agent.stop(0)


async def measure(report: Report, members: int, renewals: int) -> None:
    now_ms = int(time.time() * 1000) - renewals // SNAPSHOT_EVERY * MS_BETWEEN
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = SqliteLog(folder, clock=lambda: now_ms * 1_000_000)
        await log.ensure(TOPIC)
        first = (await log.bounds(TOPIC)).end
        for part in parts(members, renewals, first, now_ms):
            records = [new_record(event, record_id="", time_ns=0, producer=event.instance) for event in part]
            await log.append(TOPIC, records)
            now_ms += MS_BETWEEN
        last = (await log.bounds(TOPIC)).end - SNAPSHOT_EVERY - 1
        whose = f"{members} members, {renewals:,} renewals"
        for what, trim in (("", False), (", trimmed to the last snapshot", True)):
            if trim:
                await log.trim(TOPIC, Retention(below_offset=last))
            took = [await first_view(folder, number) for number in range(ROUNDS)]
            report.row(f"first view, {whose}{what}", took, unit="s", note="less is better; goal below 1")
        await log.close()


def main() -> None:
    report = Report("newcomer")
    for members, renewals in {5: 10_000}.items() if quick() else RENEWALS.items():
        asyncio.run(measure(report, members, renewals))
    report.write()


if __name__ == "__main__":
    main()
