"""The outbox at the command line: its table, what waits in it, and the relay."""

import asyncio
import time

import asyncpg
import pytest

from callboard import Callboard
from callboard.testing.servers.postgres import postgres_server
from tests.e2e.conftest import DEADLINE_S, Terminal

pytestmark = pytest.mark.postgres


async def _ordered(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await Callboard("memory:").jobs.add_within(connection, "mail/send", {"to": "ann"})
        for statement in statements:
            await connection.execute(statement)
    await connection.close()


def test_the_outbox_is_created_watched_and_emptied(terminal: Terminal) -> None:
    with postgres_server() as server:
        at = "--database", server.url
        assert "no database is named" in terminal.refused("outbox")
        assert "callboard outbox create" in terminal.refused("outbox", *at)
        assert "callboard outbox create" in terminal.refused("run", "outbox", *at)
        assert "CREATE TABLE IF NOT EXISTS callboard_outbox" in terminal.out("outbox", "create", "--sql")
        for _ in range(2):
            assert "is there, in the schema public" in terminal.out("outbox", "create", *at)
        assert terminal.out("outbox", *at) == "jobs that wait in the outbox: 0\n"
        asyncio.run(_ordered(server.url))
        assert terminal.json("outbox", "status", *at)["waiting"] == 1

        relay = terminal.start("run", "outbox", *at, said="relay.txt")
        deadline = time.monotonic() + DEADLINE_S
        while not terminal.json("jobs", "list")["items"]:
            assert time.monotonic() < deadline
        relay.terminate()
        assert relay.wait(DEADLINE_S) == 0
        assert terminal.json("outbox", *at)["waiting"] == 0

        asyncio.run(_ordered(server.url, "UPDATE callboard_outbox SET added_at = added_at - interval '1 hour'"))
        insert = "INSERT INTO callboard_outbox (topic, payload, problem) VALUES ('', '', 'no')"
        asyncio.run(_ordered(server.url, insert))
        (terminal.folder / "callboard.toml").write_text(f'log = "sqlite:///./board.db"\noutbox = "{server.url}"\n')
        for command in ("outbox", "doctor"):
            said = terminal.run(command, code=1)
            assert "jobs that wait in the outbox: 2, the oldest for 36" in said.stdout
            assert "jobs set aside in the outbox: 1; for example: no" in said.stdout
