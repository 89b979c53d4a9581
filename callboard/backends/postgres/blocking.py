"""A connection for blocking code: its event loop runs in a separate thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import RepositoryUnavailable

CLOSE_TIMEOUT_S = 2.0
"""Limit for a clean disconnect, which is optional."""

T = TypeVar("T")


class BlockingConnection:
    """Connects at once. Call it from any thread. Raises ``RepositoryUnavailable`` or ``ConfigError``."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="callboard-postgres", daemon=True)
        self._thread.start()
        try:
            self._connection = self._wait(server.connect())
        except BaseException:
            self._stop()
            raise

    def run(self, call: Callable[[Connection], Awaitable[T]]) -> T:
        """The result of an asynchronous call."""

        async def inner() -> T:
            return await call(self._connection)

        return self._wait(inner())

    def fetch(self, sql: str, *arguments: object) -> list[asyncpg.Record]:
        """The rows of a statement."""
        return self._wait(self._connection.fetch(sql, *arguments))

    def value(self, sql: str, *arguments: object) -> Any:
        """The first column of the first row, or None."""
        return self._wait(self._connection.fetchval(sql, *arguments))

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or is known to be lost."""
        return self._connection.is_closed()

    def close(self) -> None:
        """Disconnect and end the thread; idempotent."""
        if not self._thread.is_alive():
            return
        if threading.current_thread() is self._thread:  # called by a garbage collection in that thread
            self._connection.terminate()
            self._loop.call_soon(self._loop.stop)
            return
        with suppress(RepositoryUnavailable):
            self._wait(self._connection.close(timeout=CLOSE_TIMEOUT_S))
        self._stop()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with explained(self._server, RepositoryUnavailable):
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
