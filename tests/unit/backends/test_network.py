"""The network that fails on demand fails exactly as asked."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from callboard.testing.servers.network import Network, network

PATIENCE_S = 60.0
MOMENT_S = 0.1

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def played(scenario: Callable[[Network, Streams], Awaitable[None]]) -> None:
    """With a server that says everything again, and one connection to it."""

    echoes: set[asyncio.Task[None] | None] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        echoes.add(asyncio.current_task())
        with suppress(ConnectionError):
            while data := await reader.read(100):
                writer.write(data)
        await closed((reader, writer))

    async def play() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server, network() as between:
            between.target = server.sockets[0].getsockname()[1]
            streams = await asyncio.open_connection("127.0.0.1", between.port)
            async with asyncio.timeout(PATIENCE_S):
                assert await said(streams, b"hello") == b"hello"
                await scenario(between, streams)
            await closed(streams)
        await asyncio.gather(*filter(None, echoes))

    asyncio.run(play())


async def closed(streams: Streams) -> None:
    streams[1].close()
    await asyncio.gather(streams[1].wait_closed(), return_exceptions=True)


async def said(streams: Streams, data: bytes) -> bytes:
    streams[1].write(data)
    return await streams[0].read(100)


def test_data_sent_while_the_network_is_silent_arrives_afterwards() -> None:
    async def scenario(between: Network, streams: Streams) -> None:
        between.silent = True
        answer = asyncio.ensure_future(said(streams, b"anybody?"))
        assert not (await asyncio.wait({answer}, timeout=MOMENT_S))[0]
        between.silent = False
        assert await answer == b"anybody?"

    played(scenario)


def test_a_cut_resets_connections_and_new_ones_succeed() -> None:
    async def scenario(between: Network, streams: Streams) -> None:
        between.cut()
        with pytest.raises(ConnectionError):
            await streams[0].readexactly(1)
        others = await asyncio.open_connection("127.0.0.1", between.port)
        assert await said(others, b"again") == b"again"
        await closed(others)

    played(scenario)


def test_a_closed_network_refuses_new_connections() -> None:
    async def scenario(between: Network, streams: Streams) -> None:
        between.closed = True
        others = await asyncio.open_connection("127.0.0.1", between.port)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await others[0].readexactly(1)
        await closed(others)
        assert await said(streams, b"still here") == b"still here"

    played(scenario)
