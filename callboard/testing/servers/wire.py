"""An unreliable connection: a relay on loopback that cuts, counts and alters data."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import chain, repeat

from callboard.testing.servers.network import READ_BYTES, Network, running

_NEVER = 1 << 62


class Wire(Network):
    """A running relay.

    Attributes:
        sent: the data from clients, in order of arrival.
    """

    def __init__(self, target: int, cuts: Iterable[int], alter: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self.target, self._alter = target, alter
        self.sent: list[bytes] = []
        self._cuts = chain(cuts, repeat(_NEVER))
        self._cut_at = next(self._cuts)

    async def _carry_down(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        carried = 0
        while data := await source.read(READ_BYTES):
            target.write(data[: self._cut_at - carried])
            await target.drain()
            carried += len(data)
            if carried >= self._cut_at:
                self._cut_at = next(self._cuts)
                return

    async def _carry_up(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(READ_BYTES):
            self.sent.append(data)
            target.write(self._alter(data))
            await target.drain()


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
    async with running(Wire(port, cuts, alter)) as relay:
        yield relay
