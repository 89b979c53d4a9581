"""The connections of a log: a few, shared by everything it does, made anew when they are lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from callboard.backends.logs.limits import closed
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.migration import check_schema
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import CallboardError, LogUnavailable

CONNECTIONS_MAX = 4
"""Statements of one log that run at a time; every process costs the server so many connections, and one to listen."""

CLOSE_TIMEOUT_S = 2.0
"""To say goodbye to the server; it is not needed."""

PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""After a failed attempt to connect, the next waits so long; the last one counts from then on."""


class Connections:
    """Lends connections, as many as ``CONNECTIONS_MAX`` at a time."""

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
        """A connection for a few statements, whose failures are explained with this consequence.

        With ``create``, the schema is made if it is not there.
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
            finally:  # after a cancellation, or without an answer, its state is unknown
                if sound and not self._closed and not connection.is_closed():
                    self._idle.append(connection)
                else:
                    connection.terminate()

    async def close(self) -> None:
        """Close those that are idle now, the others when they come back."""
        self._closed = True
        idle, self._idle = self._idle, []
        goodbyes = (connection.close(timeout=CLOSE_TIMEOUT_S) for connection in idle)
        await asyncio.gather(*goodbyes, return_exceptions=True)  # which fail where a connection is lost already

    async def _take(self, create: bool) -> Connection:
        while True:
            if self._closed:
                raise closed()
            if self._idle:
                connection = self._idle.pop()
                if not connection.is_closed():
                    return connection
                continue
            async with self._connecting:  # one at a time: a server that is down is asked by one caller
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
