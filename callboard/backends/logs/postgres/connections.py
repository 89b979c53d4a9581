"""The connections of a log: a few, shared by all its operations, and replaced when lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callboard.backends.logs.limits import closed
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.migration import check_schema
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import CallboardError, LogUnavailable

CONNECTIONS_MAX = 4
"""Concurrent statements of one log; each process costs the server this many connections, plus one that listens."""

CLOSE_TIMEOUT_S = 2.0
"""Limit for a clean disconnect, which is optional."""

PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Pauses after failed attempts to connect; the last one repeats."""


class Connections:
    """Lends connections, at most ``CONNECTIONS_MAX`` at a time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: list[Connection] = []
        self._turns = asyncio.Semaphore(CONNECTIONS_MAX)
        self._connecting = asyncio.Lock()
        self._failures = 0
        self._retry_at = 0.0
        self._checked = False
        self._closed = False

    @asynccontextmanager
    async def lend(self, consequence: str = "Then try again", create: bool = False) -> AsyncIterator[Connection]:
        """Lend a connection for a few statements; their errors are explained with ``consequence``.

        With ``create``, the schema is created if it is missing.
        """
        async with self._turns:
            connection = await self._take(create)
            sound = False
            try:
                with explained(self._server, consequence=consequence):
                    yield connection
                sound = True
            except CallboardError as error:
                sound = not isinstance(error, LogUnavailable)
                raise
            finally:  # after a cancellation or a lost answer, its state is unknown
                if sound and not self._closed and not connection.is_closed():
                    self._idle.append(connection)
                else:
                    connection.terminate()

    async def close(self) -> None:
        """Close the idle connections now, and the others when they are returned."""
        self._closed = True
        idle, self._idle = self._idle, []
        goodbyes = (connection.close(timeout=CLOSE_TIMEOUT_S) for connection in idle)
        await asyncio.gather(*goodbyes, return_exceptions=True)  # these fail where a connection is already lost

    async def _take(self, create: bool) -> Connection:
        while True:
            if self._closed:
                raise closed()
            if self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    return connection
                continue
            async with self._connecting:  # one at a time, so that only one caller tries a server that is down
                return await self._connect(create)

    async def _connect(self, create: bool) -> Connection:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._retry_at - loop.time()))
        try:
            with explained(self._server):
                connection = await self._server.connect()
                await self._check(connection, create)
        except CallboardError:
            pause_s = PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
            self._failures, self._retry_at = self._failures + 1, loop.time() + pause_s
            raise
        self._failures = 0
        return connection

    async def _check(self, connection: Connection, create: bool) -> None:
        if not self._checked:
            try:
                await check_schema(self._server, connection, create)
            except BaseException:
                connection.terminate()
                raise
            self._checked = True
