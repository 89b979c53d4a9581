"""In any history of operations, a log over PostgreSQL answers like the log in memory."""

from functools import partial

from callboard.backends.postgres.server import Server
from callboard.testing.conformance.candidates.logs import postgres_log
from callboard.testing.conformance.log import LogHarness
from callboard.testing.conformance.log.like_memory import compare_histories
from callboard.testing.servers.postgres import PostgresServer


async def make_partitions_small(harness: LogHarness) -> None:
    """Small partitions, so that a history crosses and drops some."""
    log = await harness.open()
    await log.ensure(harness.topic)
    await log.close()
    db = await Server.of(str(harness.url)).connect()
    await db.execute("UPDATE topics SET partition_size = 5")
    await db.close()


def test_random_histories_match_the_log_in_memory(newest_postgres: PostgresServer) -> None:
    compare_histories(partial(postgres_log, newest_postgres.url), prepare=make_partitions_small)
