"""A service keeps all its tables in PostgreSQL: they are right after the server was killed, and after an older copy of
them took their place.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.backends.postgres.server import Server
from callboard.board.entities.entities import Entities
from callboard.board.entities.projected import Projected, Reacting
from callboard.errors import CallboardError, NotAnswered
from callboard.testing.servers.postgres import PostgresServer, postgres_server
from tests.chaos.entities.shop import POINTS, Balance, Balances, Points, Transfer, Transfers
from tests.unit.actors.entities.bank import Account, Move
from tests.unit.actors.entities.history import TOPIC, history

pytestmark = pytest.mark.postgres

DEADLINE_S = 120.0
POLL_S = 0.02
ACCOUNTS, CENTS, TRANSFERS = 6, 1000, 30

COPY = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'callboard_fold%' LOOP
        EXECUTE format('CREATE TABLE copies.%I AS TABLE public.%I', name, name);
    END LOOP;
END $$"""

RESTORE = """
DO $$ DECLARE name text; BEGIN
    LOCK TABLE public.callboard_folds IN EXCLUSIVE MODE;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'copies' LOOP
        EXECUTE format('DELETE FROM public.%I', name);
        EXECUTE format('INSERT INTO public.%I SELECT * FROM copies.%I', name, name);
    END LOOP;
END $$"""


class Shop:
    """A running service."""

    def __init__(self, board: Callboard, into: str) -> None:
        self.board = board
        self.accounts: Entities[Account] = board.entities(Account, snapshots=into, in_memory=3)
        self.transfers: Entities[Transfers] = board.entities(Transfers, snapshots=into, in_memory=5)
        self.balances: Projected[Balance] = board.projection(Balances, into=into)
        self.points: Reacting = board.reaction(Points, into=into)

    async def trade(self, day: str) -> None:
        """Transfers, some of which are refused; all of them to their end."""

        async def transfer(number: int) -> None:
            key, target = f"{day}-{number}", f"a{(number * 5 + 1) % ACCOUNTS}"
            command = Transfer(source=f"a{number % ACCOUNTS}", target=target, cents=number * 37 % 700)
            await persevere(lambda: self.transfers.send(key, command, command_id=key))
            step = ""
            while step not in ("done", "refused"):
                await asyncio.sleep(POLL_S)
                step = (await persevere(lambda: self.transfers.get(key))).state.step

        await asyncio.gather(*map(transfer, range(TRANSFERS)))

    async def settle(self) -> None:
        """Wait until all that follows from what is on the log is there, too."""
        for _ in range(2):  # what the reaction does changes the table
            offset = (await persevere(lambda: self.board.log.bounds(TOPIC))).end - 1
            for each in (self.points, self.balances):
                await persevere(lambda each=each, offset=offset: each.reached(offset, Account))


async def persevere(call: Callable[[], Awaitable[Any]]) -> Any:
    """Retry while the server is away, as a service does."""
    while True:
        try:
            return await call()
        except CallboardError as error:
            if not isinstance(error, NotAnswered) and not error.code.endswith("unavailable"):
                raise
            await asyncio.sleep(POLL_S)


@asynccontextmanager
async def shop(log: str, into: str, folder: Path) -> AsyncIterator[Shop]:
    async with Callboard(log, blobs="./blobs", base=folder) as board:
        its = Shop(board, into)
        for each in (its.points, its.balances):
            await each.start()
        yield its


async def run_sql(server: PostgresServer, statement: str) -> list[tuple[Any, ...]]:
    db = await Server.of(server.url, "public").connect()
    try:
        return [tuple(row) for row in await db.fetch(statement)]
    finally:
        await db.close()


async def check(its: Shop, server: PostgresServer) -> None:
    """The table, the states and the points are what the log says."""
    await its.settle()
    made, balances = await history(its.board)
    rows = {key: (cents, changes) for key, cents, changes in await run_sql(server, "SELECT * FROM test_shop_balance")}
    assert {key: cents for key, (cents, _) in rows.items()} == balances
    others = sum(changes for key, (_, changes) in rows.items() if key != POINTS)
    assert rows[POINTS] == (others, others)
    assert sum(balances.values()) - balances[POINTS] == ACCOUNTS * CENTS
    for key, cents in balances.items():
        assert (await its.accounts.get(key, after=max(made.values()))).state == Account(cents=cents)
    assert (await its.balances.status()).state == "live"


async def live(log: str, server: PostgresServer, folder: Path) -> None:
    async with shop(log, server.url, folder) as its:
        for number in range(ACCOUNTS):
            await its.accounts.send(f"a{number}", Move(cents=CENTS))
        await its.trade("monday")
        await check(its, server)
    assert await run_sql(server, "SELECT count(*) FROM callboard_folds WHERE mark <> ''") == [(4,)]
    await run_sql(server, "CREATE SCHEMA copies")
    await run_sql(server, COPY)
    async with shop(log, server.url, folder) as its:
        trading = asyncio.create_task(its.trade("tuesday"))
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await trading
        await check(its, server)
        await run_sql(server, RESTORE)
        await its.trade("wednesday")
        await check(its, server)
    await run_sql(server, RESTORE)
    async with shop(log, server.url, folder) as its:
        await check(its, server)
        await its.trade("thursday")
        await check(its, server)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as it:
        yield it


def test_tables_are_right_with_a_log_in_postgres(server: PostgresServer, tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(live(server.url, server, tmp_path), DEADLINE_S))


def test_tables_are_right_with_a_log_in_sqlite(server: PostgresServer, tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(live("sqlite:///./board.db", server, tmp_path), DEADLINE_S))
