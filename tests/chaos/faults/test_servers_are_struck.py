"""The topic of running members is restored on its server from an older copy."""

import asyncio
from pathlib import Path

import pytest

from callboard.backends.postgres.server import Server
from callboard.testing.servers.postgres import postgres_server
from tests.chaos.faults.services import Services

COPY = "CREATE TABLE copy AS SELECT max(off) AS newest FROM records_{0}"
RESTORE = """WITH later AS (DELETE FROM records_{0} WHERE off > (SELECT newest FROM copy))
    SELECT setval('offsets_{0}', newest) FROM copy"""


def carry_out(url: str, statement: str) -> None:
    async def work() -> None:
        db = await Server.of(url).connect()
        number = await db.fetchval("SELECT id FROM topics WHERE name = 'callboard.topology'")
        await db.execute(statement.format(number))
        await db.close()

    asyncio.run(work())


@pytest.mark.postgres
def test_a_restored_table_ends_the_members_and_others_start_from_it(tmp_path: Path) -> None:
    with postgres_server() as server, Services(tmp_path, server.url) as services:
        a, b = services.pair()
        carry_out(server.url, COPY)
        c = services.start("c")
        services.until(lambda: a.sees == b.sees == c.sees == "abc")

        carry_out(server.url, RESTORE)

        services.until(lambda: all(each.end for each in services.all))
        assert {each.end["code"] for each in services.all} == {"log_replaced"}
        assert "callboard.topology was replaced: it ends at offset" in a.end["why"]
        d = services.start("d")
        services.until(lambda: d.leads)
        assert services.no_two_led_at_once()
