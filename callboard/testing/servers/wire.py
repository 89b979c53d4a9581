"""An unreliable connection: a relay on loopback that cuts, counts and alters data."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import cast

_READ_BYTES = 1 << 16
_NEVER = 1 << 62


@dataclass
class Wire:
    """A running relay.

    Attributes:
        port: where it listens.
        sent: the data from clients, in order of arrival.
    """

    port: int
    sent: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def wire(
    port: int, *, cuts: Iterable[int] = (), alter: Callable[[bytes], bytes] = lambda data: data
) -> AsyncIterator[Wire]:
    """Relay to a port of this host.

    Args:
        port: of the server.
        cuts: each number is a count of bytes from the server: the first connection that carries the first number is
            cut there, the first one after it that carries the second number there, and so on.
        alter: changes data from clients.
    """
    pending = chain(cuts, repeat(_NEVER))
    cut_at = next(pending)
    streams: set[asyncio.StreamWriter] = set()
    relays: set[asyncio.Task[None]] = set()

    async def down(from_server: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        nonlocal cut_at
        carried = 0
        while data := await from_server.read(_READ_BYTES):
            to_client.write(data[: cut_at - carried])
            await to_client.drain()
            carried += len(data)
            if carried >= cut_at:
                cut_at = next(pending)
                return

    async def up(from_client: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
        while data := await from_client.read(_READ_BYTES):
            relayed.sent.append(data)
            to_server.write(alter(data))
            await to_server.drain()

    async def relay(from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        relays.add(cast("asyncio.Task[None]", asyncio.current_task()))
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        both = {to_client, to_server}
        streams.update(both)
        upward = asyncio.create_task(up(from_client, to_server))
        with suppress(ConnectionError):
            await down(from_server, to_client)
        for stream in both:
            stream.close()
        await asyncio.gather(upward, *(stream.wait_closed() for stream in both), return_exceptions=True)
        streams.difference_update(both)

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    relayed = Wire(server.sockets[0].getsockname()[1])
    try:
        yield relayed
    finally:
        server.close()
        for stream in streams:
            stream.transport.abort()
        await asyncio.gather(*relays)
