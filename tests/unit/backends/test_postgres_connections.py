"""What becomes of connections to a server that is gone."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("asyncpg")

from callboard.backends.logs.postgres import connections as module
from callboard.backends.logs.postgres.connections import Connections


class Lost:
    """A connection whose server answers no goodbye."""

    def __init__(self) -> None:
        self.closed = False

    async def close(self, timeout: float) -> None:  # noqa: ASYNC109 - asyncpg's name
        self.closed = True
        raise TimeoutError

    def is_closed(self) -> bool:
        return self.closed


class Server:
    def __init__(self) -> None:
        self.made: list[Lost] = []

    async def connect(self) -> Lost:
        self.made.append(Lost())
        return self.made[-1]


def test_all_idle_connections_are_closed_even_if_the_server_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> None:
        pass

    async def scenario() -> None:
        server = Server()
        connections = Connections(server)  # type: ignore[arg-type]  # as much of it as is needed
        async with connections.lend(), connections.lend(), connections.lend():
            pass
        await connections.close()
        assert [connection.closed for connection in server.made] == [True] * 3

    monkeypatch.setattr(module, "check_schema", nothing)
    asyncio.run(scenario())
