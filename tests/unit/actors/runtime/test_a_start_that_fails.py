"""A failed start leaves nothing behind."""

import asyncio
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from callboard.actors.core.agent import ActorSpec, AgentSpec, World
from callboard.actors.core.decision import Effect, Input, Moment, Origin, Perform, Started
from callboard.actors.core.effects import FindBounds
from callboard.actors.runtime import SystemClock
from callboard.actors.runtime.embedded.embedded import start_embedded
from callboard.actors.runtime.processes.system import System


class Looking:
    """Reads a topic forever."""

    def __init__(self, settings: object, rng: Random) -> None:
        del settings, rng

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        if isinstance(message, Started):
            yield FindBounds("package")


class Endless:
    """A world in which that takes forever."""

    async def perform(self, effect: Perform) -> Any:
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


async def endless() -> World:
    return Endless()


def test_an_embedded_agent_whose_start_is_cancelled_does_not_run() -> None:
    async def scenario() -> None:
        spec = AgentSpec("lost", (ActorSpec("looking", Looking, None),), endless)
        starting = asyncio.create_task(start_embedded(spec, SystemClock(), Random(1)))
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait({starting})
        assert starting.cancelled()
        for _ in range(100):  # of the loop, in which it would come up
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())


def test_a_system_that_cannot_start_a_process_keeps_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object, **__: object) -> None:
        raise BlockingIOError("no process to be had")

    async def scenario(folder: Path) -> None:
        system = System(folder)
        before = open_descriptors()
        with pytest.raises(BlockingIOError):
            await system.start(b"")
        await system.end()
        assert open_descriptors() == before

    monkeypatch.setattr(subprocess, "Popen", none_left)
    with tempfile.TemporaryDirectory() as folder:  # whose path is short enough for a socket
        asyncio.run(scenario(Path(folder)))
        assert list(Path(folder).iterdir()) == []


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}
