"""A service that is a member of a cluster, as a process of its own: ``member_process.py FOLDER INSTANCE [PREVIOUS]``.

It says "leads" once it does, and goes on until it is killed.
"""

import asyncio
import sys
from functools import partial
from pathlib import Path

from callboard.actors.core.agent import AgentSpec, World
from callboard.actors.runtime import Runtime, SystemClock, start_agent
from callboard.actors.topology.member import MemberSettings, actors
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.simulation.topology.cluster import TOPIC
from callboard.testing.simulation.topology.service import Service

QUICK = ClusterSettings(cluster_id="blue", lease_ms=2_500, gap_ms=1_250, ack_deadline_ms=2_500)


async def open_world(folder: Path) -> World:
    return AgentWorld(SqliteLog(folder), MemoryBlobStore(lambda: 0), folder, owned=True)


async def started(
    folder: Path, instance: str, incarnation: str, runtime: Runtime = "embedded", founding: ClusterSettings = QUICK
) -> Service:
    settings = MemberSettings(TOPIC, instance, incarnation, founding, renew_ms=400)
    service = Service(settings, lambda: SystemClock().now().mono_s)
    spec = AgentSpec(incarnation, actors(settings), partial(open_world, folder))
    service.agent = await start_agent(spec, runtime)
    service.serve(asyncio.get_running_loop())
    return service


async def main(folder: Path, instance: str) -> None:
    service = await started(folder, instance, f"{instance}1")
    while not service.leads:  # noqa: ASYNC110 - it is a process of its own
        await asyncio.sleep(0.02)
    sys.stdout.write("leads\n")
    sys.stdout.flush()
    await service.agent.ended()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
