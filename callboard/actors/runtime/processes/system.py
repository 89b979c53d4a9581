"""The processes of one agent, as the service sees them: one to start, one stream to read, one to end."""

import asyncio
import hmac
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from callboard.actors.runtime.frames import Frame, encode
from callboard.actors.runtime.processes.host import LENGTH
from callboard.actors.runtime.processes.stream_outlet import StreamOutlet
from callboard.errors import AgentFailed, ConfigError
from callboard.logger import get_logger

CONNECT_S = 40.0
"""From the start of the host process to the gateway's first frame: an interpreter starts on a busy machine."""

END_S = 5.0
"""How long a host may take to kill its descendants before it is killed itself."""

LOOK_S = 0.05
"""Interval for polling a host whose end cannot be waited for."""

BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from callboard.actors.runtime.processes.host import main; main()"
)
"""The host imports from the same places as the service."""

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
        """The outlet by which the gateway connects."""
        return StreamOutlet(f"{self.home}/gateway", self._token)

    async def start(self, launch: bytes) -> asyncio.StreamReader:
        """Start the host and wait for the gateway. Raises ``AgentFailed`` if it does not connect."""
        if len(os.fsencode(self.home)) > LONGEST_HOME:
            raise ConfigError(
                f"the folder {self.home!r} is too long for the path of a socket ({LONGEST_HOME} bytes); "
                "set TMPDIR to a shorter one"
            )
        self._server = await asyncio.start_unix_server(self._welcome, f"{self.home}/gateway")
        command = [sys.executable, "-c", BOOT]
        # Not to the service's standard output: what an actor prints is not the service's answer.
        self._host = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=2)  # noqa: ASYNC220, S603
        launched = asyncio.get_running_loop().run_in_executor(None, self._tell_host, launch)
        host_ended = asyncio.ensure_future(wait_for_exit(self._host))
        first: set[asyncio.Future[Any]] = {self._connected, host_ended}
        try:
            await asyncio.wait(first, timeout=CONNECT_S, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({launched}, timeout=CONNECT_S)
        finally:
            host_ended.cancel()
            self._server.close()
        if not self._connected.done():
            raise AgentFailed("the agent's processes did not start; see standard error for the reason")
        return self._connected.result()

    def send(self, frame: Frame) -> None:
        """Send a frame to the gateway; lost if that is gone."""
        if self._writer is not None:
            self._writer.write(encode(frame))

    async def end(self) -> None:
        """Kill every process, wait until they are gone, remove the folder. Idempotent."""
        if self._server is not None:
            self._server.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        host = self._host
        if host is not None:
            assert host.stdin is not None
            with suppress(BrokenPipeError):
                host.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await wait_for_exit(host)
            if host.poll() is None:
                host.kill()
                await wait_for_exit(host)
            host.wait()  # it has exited: this only reaps it
        shutil.rmtree(self.home, ignore_errors=True)
        with suppress(OSError):
            os.rmdir(self.home)  # noqa: PTH106 - on an empty folder it needs no descriptor, and there may be none

    def _tell_host(self, launch: bytes) -> None:
        assert self._host is not None
        assert self._host.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; the caller that waits for the gateway notices
            self._host.stdin.write(json.dumps(sys.path).encode() + b"\n" + LENGTH.pack(len(launch)) + launch)
            self._host.stdin.flush()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            token = await asyncio.wait_for(reader.readexactly(len(self._token)), CONNECT_S)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            token = b""
        if self._connected.done() or not hmac.compare_digest(token, self._token):
            get_logger().warning("gateway.refused", reason="wrong token")
            writer.close()
            return
        self._writer = writer
        self._connected.set_result(reader)


async def wait_for_exit(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process has exited, without reaping it if a descriptor is available."""
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except OSError:  # no descriptor available
        while process.poll() is None:  # noqa: ASYNC110 - nothing can wake us
            await asyncio.sleep(LOOK_S)
        return
    loop.add_reader(handle, exited.set)
    try:
        await exited.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
