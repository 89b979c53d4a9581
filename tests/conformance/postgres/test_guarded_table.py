"""The table in docs/topology.md refuses former leaders, run as it is written there."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from callboard.backends.fence import Token
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import LeaderReplaced

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "topology.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
FORMER, NEW = Token("log", 5), Token("log", 7)
WRITES = 100
DEADLINE_S = 60.0


@pytest.fixture
def set_price() -> Any:
    module: dict[str, Any] = {}
    exec(compile(FILES["prices.py"], "prices.py", "exec"), module)
    return module["set_price"]


async def connected(url: str) -> Connection:
    server = Server.of(url)
    connection = await server.connect()
    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {server.schema}")
    return connection


def test_the_table_in_the_documentation_admits_only_the_newest_leader(postgres_url: str, set_price: Any) -> None:
    async def scenario() -> None:
        db = await connected(postgres_url)
        await db.execute(FILES["prices.sql"])
        await set_price(db, FORMER, "tea", 250)
        await set_price(db, FORMER, "tea", 260)
        await set_price(db, NEW, "milk", 120)
        for token in (FORMER, Token("another log", 9)):
            for name in ("tea", "milk", "bread"):
                with pytest.raises(LeaderReplaced, match=f"the price of {name} is not set"):
                    await set_price(db, token, name, 1)
        assert dict(await db.fetch("SELECT name, cents FROM prices")) == {"tea": 260, "milk": 120}
        await db.close()

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_after_the_first_write_of_a_new_leader_the_former_writes_nothing(postgres_url: str, set_price: Any) -> None:
    async def scenario() -> None:
        former, new = [await connected(postgres_url) for _ in range(2)]
        await new.execute(FILES["prices.sql"])
        began = asyncio.Event()

        async def lead() -> None:
            while True:
                await set_price(former, FORMER, "tea", 5)
                began.set()

        running = asyncio.create_task(lead())
        await began.wait()
        for number in range(WRITES):
            await set_price(new, NEW, f"tea {number}", 7)
            await set_price(new, NEW, "tea", 7)
            assert await new.fetchval("SELECT cents FROM prices WHERE name = 'tea'") == 7
        with pytest.raises(LeaderReplaced):
            await running
        await asyncio.gather(former.close(), new.close())

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))
