"""The endpoints of a board, served on a port of loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from callboard import Callboard
from callboard.http_server import Server
from callboard.web import health_app
from callboard.web.endpoints.part import Part

HOST = "127.0.0.1"
DEADLINE_S = 60.0


@asynccontextmanager
async def served(board: Callboard, *parts: Part) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the endpoints."""
    server = Server(health_app(board, *parts), (HOST, 0))
    await server.start()
    try:
        async with httpx.AsyncClient(base_url=f"http://{HOST}:{server.port}", trust_env=False, timeout=60) as client:
            yield client
    finally:
        await server.stop()


def play(scenario: Callable[[Callboard], Awaitable[None]], folder: Path) -> None:
    """The scenario on a board in memory."""

    async def work() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board:
            await scenario(board)

    asyncio.run(work())


async def until(met: Callable[[], Awaitable[bool]]) -> None:
    """Look until it is so."""
    async with asyncio.timeout(DEADLINE_S):
        while not await met():  # noqa: ASYNC110 - what is asked tells nobody
            await asyncio.sleep(0.02)


def port_of(client: httpx.AsyncClient) -> int:
    """Where it connects to."""
    assert client.base_url.port is not None
    return client.base_url.port
