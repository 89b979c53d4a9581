"""The processes runtime: an agent with a process per actor, for isolation and for chaos."""

import asyncio
import os
import pickle
import shutil
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from callboard.actors.core.agent import ActorStatus, Agent, AgentSpec, Clock
from callboard.actors.runtime.control import StartAgent
from callboard.actors.runtime.frames import Frame, FrameReader
from callboard.actors.runtime.processes.host import Launch
from callboard.actors.runtime.processes.stream_outlet import READ_BYTES
from callboard.actors.runtime.processes.system import System
from callboard.actors.runtime.processes.thread_runner import ProcessSite
from callboard.actors.runtime.running_agent import RunningAgent
from callboard.actors.runtime.supervision import Limits
from callboard.errors import AgentFailed, CallboardError, ConfigError, Undecodable
from callboard.logger import get_logger

MAX_SYSTEMS = 3
"""How often a whole system may be replaced within ``SYSTEMS_WINDOW_S``; then the agent has failed."""
SYSTEMS_WINDOW_S = 180.0
"""Longer than that many starts that each wait the full ``CONNECT_S``."""
START_AGAIN_S = 0.5
"""Between two starts, when the first failed."""

LIMITS = Limits(beat_s=1.0)
"""Supervision of processes: one that handles no message for 5 s is hung."""


class ProcessLink:
    """The service's connection to its agent, across successive systems; see ``Link``."""

    def __init__(
        self,
        spec: AgentSpec,
        agent: RunningAgent,
        start: Callable[[System], bytes],
        home_base: Path | None,
        clock: Clock,
    ) -> None:
        self._agent = agent
        self._start = start
        self._home_base = home_base
        self._clock = clock
        self._system: System | None = None
        self._reading: asyncio.Task[None] | None = None
        self._lost: deque[float] = deque()
        self._homes: list[str] = []
        self._log: Any = get_logger().bind(agent=spec.name)

    async def open(self) -> None:
        """Start a system and follow the frames of its gateway."""
        system = System(self._home_base)
        self._homes.append(system.home)
        try:
            reader = await system.start(self._start(system))
        except BaseException:
            await system.end()
            raise
        self._system = system
        self._agent.link_restored()
        self._reading = asyncio.get_running_loop().create_task(self._follow(reader))

    def send(self, frame: Frame) -> None:
        """Pass a frame to the gateway."""
        if self._system is not None:
            self._system.send(frame)

    def kill(self, actor: ActorStatus) -> None:
        """Send SIGKILL to the actor's process."""
        with suppress(ProcessLookupError):
            os.kill(actor.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End the processes, including replacements being started."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})
        if self._system is not None:
            await self._system.end()
        for home in self._homes:  # a system that ended without free descriptors may have left its folder
            shutil.rmtree(home, ignore_errors=True)

    async def _follow(self, reader: asyncio.StreamReader) -> None:
        frames = FrameReader()
        with suppress(ConnectionError, Undecodable):
            while data := await reader.read(READ_BYTES):
                for frame in frames.feed(data):
                    self._agent.receive(frame)
        if self._agent.link_lost():
            await self._replace()

    async def _replace(self) -> None:
        """Start a replacement system; one that does not start counts as lost too."""
        reason = "its system died"
        while self._may_replace(reason):
            try:
                if self._system is not None:
                    await self._system.end()
                    self._system = None
                await self.open()
            except (CallboardError, OSError) as error:  # such as a temporary lack of processes
                reason = str(error)
                await asyncio.sleep(START_AGAIN_S)
            else:
                return

    def _may_replace(self, reason: str) -> bool:
        now_s = self._clock.now().mono_s
        self._lost.append(now_s)
        while now_s - self._lost[0] > SYSTEMS_WINDOW_S:
            self._lost.popleft()
        times = len(self._lost)
        self._log.warning("system.lost", times=times, reason=reason)
        if times > MAX_SYSTEMS:
            why = f"the agent's processes were lost {times} times in {SYSTEMS_WINDOW_S:g} s, last because {reason}"
            self._agent.fail(AgentFailed(f"{why}; see standard error for more, then start the agent again"))
        return times <= MAX_SYSTEMS


async def start_processes(
    spec: AgentSpec,
    clock: Clock,
    rng: Random,
    *,
    home_base: Path | None = None,
    configure_logging: Callable[[], None] | None = None,
    limits: Limits = LIMITS,
) -> Agent:
    """Run the agent with a process per actor, plus three for the system itself.

    Args:
        spec: The agent. All of it must be picklable, and importable in another process.
        clock: Tells its actors the time; picklable.
        rng: The source of its actors' randomness; drawn from once.
        home_base: Where to create the private folder of its sockets; by default in the system's temporary folder.
        configure_logging: Called once in every process; importable. Actors log to standard error.
        limits: The bounds of supervision.

    Raises:
        ConfigError: The agent cannot be sent to another process, or the folder's path is too long.
        AgentFailed: Its processes did not start.
    """
    agent = RunningAgent(spec)
    seed = rng.getrandbits(64)
    site = ProcessSite(clock, spec.world, configure_logging)

    def launch(system: System) -> bytes:
        start = StartAgent(spec.name, spec.actors, seed, limits, dict(agent.epochs), site, system.outlet)
        return _pickled(spec.name, Launch(os.getpid(), system.home, configure_logging, start))

    link = ProcessLink(spec, agent, launch, home_base, clock)
    agent.attach(link)
    await link.open()
    return agent


def _pickled(name: str, launch: Launch) -> bytes:
    fix = "build it from importable classes and functions, and frozen settings"
    try:
        data = pickle.dumps(launch)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(f"agent {name!r} cannot run in processes: {error}; {fix}") from error
    if b"__main__" in data:
        raise ConfigError(f"agent {name!r} cannot run in processes: it uses something defined in __main__; {fix}")
    return data
