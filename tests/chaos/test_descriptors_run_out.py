"""A service of actors in processes runs out of descriptors, loses its system, and gets them back."""

# ruff: noqa: ASYNC110  # what other processes do can only be polled

import asyncio
import os
import resource
import signal
import tempfile
from pathlib import Path

import pytest

from callboard.actors.runtime import Limits, start_agent
from callboard.actors.runtime.actor_system import leash
from callboard.testing.conformance.runtime_example import example_agent, word

PATIENCE_S = 60.0
NONE_LEFT = 3


def test_a_system_lost_for_want_of_descriptors_is_replaced_when_there_are_some_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(home: Path) -> None:
        agent = await start_agent(example_agent(tmp_path / "diary"), "processes", limits=Limits(), home_base=home)
        try:
            await agent.ask("counter", word("count"), PATIENCE_S)
            [host] = [pid for pid in leash.children(os.getpid()) if is_host(pid)]
            usual = resource.getrlimit(resource.RLIMIT_NOFILE)
            for pid in (os.getpid(), host):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (NONE_LEFT, usual[1]))
            try:
                os.kill(host, signal.SIGKILL)
                async with asyncio.timeout(PATIENCE_S):
                    while caplog.text.count("system.lost") < 2:  # the first one to replace it came to nothing
                        await asyncio.sleep(0.005)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, usual)
            await agent.ask("counter", word("count"), PATIENCE_S)
        finally:
            await agent.stop(1)

    with tempfile.TemporaryDirectory() as home:  # a short path, for sockets
        asyncio.run(scenario(Path(home)))
        assert list(Path(home).iterdir()) == []


def is_host(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text().strip() == "cb:host"
