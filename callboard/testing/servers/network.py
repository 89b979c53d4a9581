"""An unreliable network: a relay on loopback between agents and a server."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeVar, cast

N = TypeVar("N", bound="Network")

READ_BYTES = 1 << 16
_POLL_S = 0.02


class Network:
    """A running relay.

    Attributes:
        port: where clients connect.
        target: the server's port on this host; 0 while it is unknown: nothing gets through then.
        delay_s: the delay of all data, in both directions, in seconds.
        silent: simulates a dead link: connections stay, but nothing passes. Data sent meanwhile passes afterwards,
            unless the connections are cut before.
        closed: new connections are cut at once.
    """

    def __init__(self) -> None:
        self.port = 0
        self.target = 0
        self.delay_s = 0.0
        self.silent = False
        self.closed = False
        self._streams: set[asyncio.StreamWriter] = set()
        self._relays: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Reset every connection."""
        for stream in list(self._streams):
            _reset(stream)

    async def _relay(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)
        if self.closed:
            _reset(to_client)
            await asyncio.gather(to_client.wait_closed(), return_exceptions=True)
            return
        from_server, to_server = await self._connected()
        streams = [stream for stream in (to_client, to_server) if stream is not None]
        self._streams.update(streams)
        if from_server is not None and to_server is not None:
            ways = [
                asyncio.create_task(self._carry_up(from_client, to_server)),
                asyncio.create_task(self._carry_down(from_server, to_client)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        for stream in streams:
            stream.close()
        await asyncio.gather(*(stream.wait_closed() for stream in streams), return_exceptions=True)
        self._streams.difference_update(streams)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | tuple[None, None]:
        try:
            return await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:  # the server is down
            return None, None

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(READ_BYTES):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                while self.silent:  # noqa: ASYNC110 - an attribute is simpler to set than an event
                    await asyncio.sleep(_POLL_S)
                target.write(data)
                await target.drain()

    _carry_up = _carry_down = _carry


def _reset(stream: asyncio.StreamWriter) -> None:
    """Reset a connection as a broken network does, rather than close it."""
    if not stream.transport.is_closing():
        stream.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.transport.abort()


def free_port() -> int:
    """A port of this host that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def network() -> AsyncIterator[Network]:
    """A healthy network; the caller sets its target."""
    async with running(Network()) as relay:
        yield relay


@asynccontextmanager
async def running(relay: N) -> AsyncIterator[N]:
    """The relay while it listens."""
    server = await asyncio.start_server(relay._relay, "127.0.0.1", 0)  # noqa: SLF001 - of this very module
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        relay.silent, relay.closed = False, True
        relay.cut()
        await asyncio.gather(*relay._relays, return_exceptions=True)  # noqa: SLF001
