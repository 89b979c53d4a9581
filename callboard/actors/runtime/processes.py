"""The processes runtime: an agent whose actors have a process each, for isolation and for chaos."""

import asyncio
import hmac
import json
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import structlog

from callboard.actors.agent import ActorStatus, Agent, AgentSpec, Clock
from callboard.actors.runtime.control import StartAgent
from callboard.actors.runtime.frames import Frame, FrameReader, encode
from callboard.actors.runtime.host import LENGTH, Launch
from callboard.actors.runtime.running_agent import RunningAgent
from callboard.actors.runtime.stream_outlet import READ_BYTES, StreamOutlet
from callboard.actors.runtime.supervision import Limits
from callboard.actors.runtime.thread_runner import ProcessSite
from callboard.errors import AgentFailed, CallboardError, ConfigError, Undecodable

CONNECT_S = 20.0
"""From the start of the host process to the gateway's first word; an interpreter start on a busy machine."""

END_S = 5.0
"""How long a host may take to kill everything below it before it is killed itself."""

MAX_SYSTEMS = 3
"""So many times in ``SYSTEMS_WINDOW_S`` may a whole system be replaced; then the agent has failed."""
SYSTEMS_WINDOW_S = 60.0

LIMITS = Limits(beat_s=1.0)
"""Supervision of processes: one that handles no message for 5 s is hung."""

BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from callboard.actors.runtime.host import main; main()"
)
"""The host imports from where the service does."""

LONGEST_HOME = 107 - len("/281474976710656")
"""Bytes of the private folder's path: a socket's path has 107, and ends in a number of 48 bits."""


class System:
    """One actor system: its private folder, its host process, and the stream to its gateway."""

    def __init__(self, home_base: Path | None) -> None:
        self.home = tempfile.mkdtemp(prefix="callboard-", dir=home_base)  # 0700
        self._token = secrets.token_bytes(32)
        self._host: subprocess.Popen[bytes] | None = None
        self._server: asyncio.Server | None = None
        self._connected: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()
        self._writer: asyncio.StreamWriter | None = None

    @property
    def outlet(self) -> StreamOutlet:
        """What the gateway needs to connect."""
        return StreamOutlet(f"{self.home}/gateway", self._token)

    async def start(self, launch: bytes) -> asyncio.StreamReader:
        """Start the host and wait for the gateway. Raises ``AgentFailed`` if it does not come."""
        if len(os.fsencode(self.home)) > LONGEST_HOME:
            raise ConfigError(
                f"the folder {self.home!r} is too long for the path of a socket ({LONGEST_HOME} bytes); "
                "set TMPDIR to a shorter one"
            )
        self._server = await asyncio.start_unix_server(self._welcome, f"{self.home}/gateway")
        command = [sys.executable, "-c", BOOT]
        # Not on the service's standard output: what an actor prints is not the service's answer.
        self._host = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=2)  # noqa: ASYNC220, S603
        told = asyncio.get_running_loop().run_in_executor(None, self._tell_host, launch)
        host_ended = asyncio.ensure_future(wait_for_exit(self._host))
        first: set[asyncio.Future[Any]] = {self._connected, host_ended}
        try:
            await asyncio.wait(first, timeout=CONNECT_S, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({told}, timeout=CONNECT_S)
        finally:
            host_ended.cancel()
            self._server.close()
        if not self._connected.done():
            raise AgentFailed("the agent's processes did not start; see standard error for the reason")
        return self._connected.result()

    def send(self, frame: Frame) -> None:
        """Say this to the gateway; lost if it is gone."""
        if self._writer is not None:
            self._writer.write(encode(frame))

    async def end(self) -> None:
        """Kill every process, wait until they are gone, remove the folder. Idempotent."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        host = self._host
        if host is not None:
            assert host.stdin is not None
            with suppress(BrokenPipeError):
                host.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(wait_for_exit(host), END_S)
            if host.poll() is None:
                host.kill()
                await wait_for_exit(host)
            host.wait()  # it has exited: this only reaps it
        shutil.rmtree(self.home, ignore_errors=True)

    def _tell_host(self, launch: bytes) -> None:
        assert self._host is not None
        assert self._host.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; that is noticed by who waits for the gateway
            self._host.stdin.write(json.dumps(sys.path).encode() + b"\n" + LENGTH.pack(len(launch)) + launch)
            self._host.stdin.flush()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            token = await asyncio.wait_for(reader.readexactly(len(self._token)), CONNECT_S)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            token = b""
        if self._connected.done() or not hmac.compare_digest(token, self._token):
            structlog.get_logger().warning("gateway.refused", reason="wrong token")
            writer.close()
            return
        self._writer = writer
        self._connected.set_result(reader)


class ProcessLink:
    """The service's connection with its agent, over one system after another; see ``Link``."""

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
        self._log: Any = structlog.get_logger().bind(agent=spec.name)

    async def open(self) -> None:
        """Start a system and follow what its gateway says."""
        system = System(self._home_base)
        try:
            reader = await system.start(self._start(system))
        except BaseException:
            await system.end()
            raise
        self._system = system
        self._agent.link_restored()
        self._reading = asyncio.get_running_loop().create_task(self._follow(reader))

    def send(self, frame: Frame) -> None:
        """Pass this to the gateway."""
        if self._system is not None:
            self._system.send(frame)

    def kill(self, actor: ActorStatus) -> None:
        """SIGKILL to its process."""
        with suppress(ProcessLookupError):
            os.kill(actor.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End the processes, also those that are about to replace others."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})
        if self._system is not None:
            await self._system.end()

    async def _follow(self, reader: asyncio.StreamReader) -> None:
        frames = FrameReader()
        with suppress(ConnectionError, Undecodable):
            while data := await reader.read(READ_BYTES):
                for frame in frames.feed(data):
                    self._agent.receive(frame)
        if self._agent.link_lost():
            await self._replace()

    async def _replace(self) -> None:
        now_s = self._clock.now().mono_s
        self._lost.append(now_s)
        while now_s - self._lost[0] > SYSTEMS_WINDOW_S:
            self._lost.popleft()
        self._log.warning("system.lost", times=len(self._lost))
        if len(self._lost) > MAX_SYSTEMS:
            self._agent.fail(AgentFailed(f"the agent's supervisor died {len(self._lost)} times in a minute"))
            return
        if self._system is not None:
            await self._system.end()
        try:
            await self.open()
        except CallboardError as error:
            self._agent.fail(error)


async def start_processes(
    spec: AgentSpec,
    clock: Clock,
    rng: Random,
    *,
    home_base: Path | None = None,
    configure_logging: Callable[[], None] | None = None,
    limits: Limits = LIMITS,
) -> Agent:
    """Run the agent with a process for each actor, and three for the system itself.

    Args:
        spec: The agent. All of it must be picklable, and made of what can be imported elsewhere.
        clock: Tells its actors the time; picklable.
        rng: The source of its actors' randomness; drawn from once.
        home_base: Where the private folder of its sockets is made; the system's temporary folder if not given.
        configure_logging: Called once in every process; importable. What actors log goes to standard error.
        limits: The bounds of supervision.

    Raises:
        ConfigError: The agent cannot be sent to another process, or the folder's path is too long.
        AgentFailed: Its processes did not start.
    """
    agent = RunningAgent(spec)
    seed = rng.getrandbits(64)
    site = ProcessSite(clock, spec.world, configure_logging)

    def launch(system: System) -> bytes:
        start = StartAgent(
            spec.name, spec.actors, seed, limits, dict(agent.epochs), site, system.outlet
        )
        return _pickled(spec.name, Launch(os.getpid(), system.home, configure_logging, start))

    link = ProcessLink(spec, agent, launch, home_base, clock)
    agent.attach(link)
    await link.open()
    return agent


def _pickled(name: str, launch: Launch) -> bytes:
    fix = "build it of classes and functions that can be imported, and frozen settings"
    try:
        data = pickle.dumps(launch)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(f"agent {name!r} cannot run in processes: {error}; {fix}") from error
    if b"__main__" in data:
        raise ConfigError(f"agent {name!r} cannot run in processes: it uses something of __main__; {fix}")
    return data


async def wait_for_exit(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process has exited, without reaping it."""
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    loop.add_reader(handle, exited.set)
    try:
        await exited.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
