"""Whatever is done to it, a log over PostgreSQL says what the log in memory says."""

from functools import partial

from callboard.backends.postgres.server import Server
from callboard.testing.conformance.candidates.logs import postgres_log
from callboard.testing.conformance.log import LogHarness
from callboard.testing.conformance.log.like_memory import compare_histories
from callboard.testing.servers.postgres import PostgresServer


async def make_partitions_small(harness: LogHarness) -> None:
    """So that a history crosses and drops some of them."""
    log = await harness.open()
    await log.ensure(harness.topic)
    await log.close()
    db = await Server.of(str(harness.url)).connect()
    await db.execute("UPDATE topics SET partition_size = 5")
    await db.close()


def test_random_histories_end_alike(newest_postgres: PostgresServer) -> None:
    compare_histories(partial(postgres_log, newest_postgres.url), prepare=make_partitions_small)
