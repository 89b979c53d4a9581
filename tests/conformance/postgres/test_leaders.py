"""Two leaders write to one repository in PostgreSQL; the former does not know yet that it was replaced."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from pathlib import Path

import pytest

from callboard.backends.fence import Token
from callboard.backends.postgres.server import Server
from callboard.backends.repositories.postgres.store import PostgresStore
from callboard.errors import LeaderReplaced
from callboard.testing.conformance.repository.harness import a_file, shapes
from callboard.testing.servers.postgres import postgres_server

LEADER = Path(__file__).with_name("leader.py")
WRITES = 40
DEADLINE_S = 60.0

HISTORY = """
    CREATE TABLE history (number bigserial, leader_epoch bigint);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO {schema}.history(leader_epoch) VALUES (NEW.leader_epoch); RETURN NEW; END';
    CREATE TRIGGER note AFTER UPDATE ON repositories FOR EACH ROW EXECUTE FUNCTION note();"""


@pytest.mark.parametrize("lock", ["locked", "unlocked"])
def test_a_former_leader_writes_nothing_after_the_new_one(postgres_url: str, lock: str) -> None:
    url = f"{postgres_url}&repository=one"

    async def lead(epoch: int, times: int) -> asyncio.subprocess.Process:
        arguments = (url, str(epoch), str(times), lock)
        return await asyncio.create_subprocess_exec(sys.executable, LEADER, *arguments, stdout=PIPE)

    async def scenario() -> tuple[list[str], list[int]]:
        store = PostgresStore(url)
        await asyncio.to_thread(store.open)
        await asyncio.to_thread(store.close)
        server = Server.of(postgres_url)
        db = await server.connect()
        await db.execute(HISTORY.format(schema=server.schema))
        former = await lead(5, sys.maxsize)
        try:
            assert former.stdout is not None
            assert await former.stdout.readline() == b"wrote\n"
            new = await lead(7, WRITES)
            said = [(await each.communicate())[0].decode() for each in (new, former)]
        finally:
            with suppress(ProcessLookupError):
                former.kill()
        history = [row[0] for row in await db.fetch("SELECT leader_epoch FROM history ORDER BY number")]
        await db.close()
        return said, history

    (new, former), history = asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))
    assert new.split() == ["wrote"] * WRITES
    assert former.split()[-1] == "refused"
    assert history == [5] * (former.count("wrote") + 1) + [7] * WRITES
    store = PostgresStore(url)
    assert store.open() == b"7"
    assert shapes(store) == {"/leader": a_file("7")}
    store.close()


def test_the_first_write_of_a_leader_survives_a_server_crash_even_if_it_is_a_draft() -> None:
    with postgres_server() as server:
        store = PostgresStore(f"{server.url}&repository=one")
        for epoch in (5, 7, 9):
            store.open()
            store.save(b"draft", durable=False, token=Token("log", epoch))
            server.kill()
            server.start()
            store.open()
            with pytest.raises(LeaderReplaced):
                store.save(b"former", token=Token("log", epoch - 1))
        store.close()
