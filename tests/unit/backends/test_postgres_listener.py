import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("asyncpg")

from callboard.backends.logs.postgres.listener import Listener


class Server:
    """A server and the one connection to it."""

    name, schema = "a server", "callboard"
    lose: Callable[[object], None]

    async def connect(self) -> "Server":
        return self

    def add_termination_listener(self, lose: Callable[[object], None]) -> None:
        self.lose = lose

    async def add_listener(self, *_: Any) -> None:
        pass

    def terminate(self) -> None:
        pass


@pytest.mark.parametrize("turns", range(4))
def test_a_listener_ends_if_it_loses_its_connection_during_the_close(turns: int) -> None:
    async def scenario() -> None:
        server, listening = Server(), asyncio.Event()
        listener = Listener(server, lambda *_: None, listening.set)  # type: ignore[arg-type]  # as much as is needed
        await listening.wait()
        await asyncio.sleep(0)
        server.lose(server)
        for _ in range(turns):
            await asyncio.sleep(0)
        closing = asyncio.create_task(listener.close())
        for _ in range(10):  # turns of the loop, more than it needs
            await asyncio.sleep(0)
        assert closing.done()

    asyncio.run(scenario())
