"""A connection that counts what the server sends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callboard.testing.servers.network import READ_BYTES, Network, running


class CountingWire(Network):
    """Passes everything on. ``carried`` counts the bytes from the server."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self.target, self.carried = target, 0

    async def _carry_down(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(READ_BYTES):
            self.carried += len(data)
            target.write(data)
            await target.drain()


@asynccontextmanager
async def counting_wire(port: int) -> AsyncIterator[CountingWire]:
    """A wire to a port of this host."""
    async with running(CountingWire(port)) as wire:
        yield wire
