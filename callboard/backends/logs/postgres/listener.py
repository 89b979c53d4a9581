"""Hears every append to a log, on one connection of the process, which is replaced when lost."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from callboard.backends.logs.postgres.connections import PAUSES_S
from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import CallboardError, LogUnavailable
from callboard.logger import get_logger

PING_S = 10.0
"""How long the connection may be silent before it is pinged."""


class Listener:
    """Runs until it is closed.

    Args:
        heard: called with a topic's id and the newest offset when records were committed.
        renewed: called when listening begins: earlier notifications may have been missed.
    """

    def __init__(self, server: Server, heard: Callable[[int, int], None], renewed: Callable[[], None]) -> None:
        self._server, self._heard, self._renewed = server, heard, renewed
        self._task = asyncio.create_task(self._run(), name="callboard-log-listener")

    async def close(self) -> None:
        """Stop listening; idempotent."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                with explained(self._server):
                    connection = await self._server.connect()
                    failures = 0
                    await self._listen(connection)
            except (CallboardError, asyncpg.PostgresError) as error:  # waiters poll until it works again
                if not failures:  # an outage is told once
                    get_logger().warning("listener.failed", server=self._server.name, error=str(error))
            await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
            failures += 1

    async def _listen(self, connection: Connection) -> None:
        """Listen until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            await connection.add_listener(self._server.schema, self._on_notify)
            self._renewed()
            while not lost.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(PING_S):  # wait_for may swallow a cancellation in Python 3.11
                        await lost.wait()
                    break
                await connection.execute("SELECT 1")
            raise LogUnavailable(f"the connection to {self._server.name} was lost; it is made again")
        finally:
            connection.terminate()

    def _on_notify(self, _connection: object, _process: int, _channel: str, payload: object) -> None:
        topic_id, newest = str(payload).split()
        self._heard(int(topic_id), int(newest))
