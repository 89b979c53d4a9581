"""Members whose processes are killed with SIGKILL."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from callboard.actors.runtime import Runtime
from callboard.actors.topology.member.roles import PROPOSER, RENEWER, VIEW_KEEPER
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.testing.simulation.topology.service import Service, agreed
from tests.chaos.member_process import QUICK, started
from tests.conformance.members import until
from tests.tidy.sources import ROOT


@asynccontextmanager
async def member(
    folder: Path, instance: str, runtime: Runtime = "embedded", founding: ClusterSettings = QUICK
) -> AsyncIterator[Service]:
    service = await started(folder, instance, f"{instance}1", runtime, founding)
    try:
        yield service
    finally:
        service.pause()
        await service.agent.stop(1.0)


def test_the_others_go_on_when_the_leader_is_killed(tmp_path: Path) -> None:
    async def scenario() -> None:
        command = [sys.executable, "-m", "tests.chaos.member_process", str(tmp_path), "a"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as leader:  # noqa: ASYNC220 - at once
            assert leader.stdout is not None
            assert await asyncio.to_thread(leader.stdout.readline) == b"leads\n"
            async with member(tmp_path, "b") as b, member(tmp_path, "c") as c:
                await until(lambda: b.order in ("a b c", "a c b") and b.is_settled)

                leader.kill()

                await until(lambda: len(b.state.members) == 2 and b.is_settled and c.is_settled)
                assert [b.leads, c.leads] == [b.order == "b c", b.order == "c b"]

    asyncio.run(scenario())


@pytest.mark.parametrize("role", [VIEW_KEEPER, RENEWER, PROPOSER])
def test_a_member_outlives_the_processes_of_its_actors(tmp_path: Path, role: str) -> None:
    async def scenario() -> None:
        patient = ClusterSettings(cluster_id="blue")  # a process may start slower than a quick lease ends
        async with member(tmp_path, "a", "processes", patient) as a, member(tmp_path, "b", founding=patient) as b:
            await until(lambda: len(b.state.members) == 2 and b.is_settled and a.is_settled)
            order, epoch = b.order, b.state.view.epoch
            for _ in range(3):
                (status,) = [each for each in a.agent.actors() if each.role == role]
                os.kill(status.pid, signal.SIGKILL)
                heard_ms = heard(b)
                await until(lambda heard_ms=heard_ms: heard(b) > heard_ms + 1000)  # type: ignore[misc]

            assert agreed(order, a, b)()
            assert b.state.view.epoch == epoch
            assert a.stands

    asyncio.run(scenario())


def heard(service: Service) -> int:
    found = service.state.member("a")
    return found.heard_ms if found else 0
