"""Partitions: created as offsets need them, dropped by trims, and read by index whatever the statistics say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from callboard.backends.log import Retention
from callboard.backends.logs.postgres import PostgresLog, reader
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import NewRecord

SIZE = 100
PARTITIONS = """SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
                WHERE c.oid = 'records_1'::regclass"""


@asynccontextmanager
async def small_partitions(url: str) -> AsyncIterator[tuple[PostgresLog, Connection]]:
    log, db = PostgresLog(url), None
    try:
        await log.ensure("package")
        db = await Server.of(url).connect()
        await db.execute("UPDATE topics SET partition_size = $1", SIZE)
        yield log, db
    finally:
        await log.close()
        if db is not None:
            await db.close()


def records(count: int, key: str = "") -> list[NewRecord]:
    return [NewRecord(payload=b"x" * 50, key=f"{key}{number}" if key else "") for number in range(count)]


def test_an_append_creates_the_partitions_that_it_needs(postgres_url: str) -> None:
    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, db):
            assert await log.append("package", records(3 * SIZE + 1)) == list(range(1, 3 * SIZE + 2))
            assert await db.fetchval(PARTITIONS) == 4
            assert len(await log.read("package", SIZE - 1)) == 2 * SIZE + 3

    asyncio.run(scenario())


def test_a_trim_drops_whole_partitions_and_hides_the_remaining_records_below_it(postgres_url: str) -> None:
    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, db):
            await log.append("package", records(5 * SIZE))
            assert await log.trim("package", Retention(below_offset=250)) == 250
            assert await db.fetchval(PARTITIONS) == 3
            assert await db.fetchval("SELECT min(off) FROM records_1") == 201
            with pytest.raises(OffsetOutOfRange):
                await log.read("package", 249)

    asyncio.run(scenario())


def test_an_emptied_topic_continues_above_its_end(postgres_url: str) -> None:
    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, db):
            await log.append("package", records(2 * SIZE))
            assert await log.trim("package", Retention(above_bytes=0)) == 2 * SIZE + 1
            assert await db.fetchval(PARTITIONS) == 0
            assert await log.bounds("package") == (2 * SIZE + 1, 2 * SIZE + 1)
            assert await log.append("package", records(1)) == [2 * SIZE + 1]

    asyncio.run(scenario())


def test_a_reader_whose_partitions_are_dropped_gets_an_error_and_no_hole(postgres_url: str) -> None:
    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, _):
            other = PostgresLog(postgres_url)
            await log.append("package", records(20 * SIZE))
            marks = range(1, 19 * SIZE, 60)
            trims = asyncio.gather(*(log.trim("package", Retention(below_offset=mark)) for mark in marks))
            start, refused = 1, 0
            while start <= 20 * SIZE:
                try:
                    found = [record.offset for record in await other.read("package", start, max_records=30)]
                except OffsetOutOfRange as error:
                    assert error.first > start  # noqa: PT017 - it may as well not be raised
                    start, refused = error.first, refused + 1
                else:
                    assert found == list(range(start, start + len(found)))
                    start = found[-1] + 1
            await trims
            assert refused, "nothing was trimmed under the reader"
            await other.close()

    asyncio.run(scenario())


def test_a_long_read_does_not_block_a_trim_and_a_trim_does_not_block_reads(postgres_url: str) -> None:
    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, db):
            await log.append("package", records(2 * SIZE))
            async with db.transaction():
                await db.fetchval("SELECT count(*) FROM records_1")  # such as a dump, which keeps its locks
                assert await log.trim("package", Retention(below_offset=SIZE + 50)) == SIZE + 50
                assert await db.fetchval(PARTITIONS) == 2
                with pytest.raises(OffsetOutOfRange):
                    await log.read("package", 1)
                await log.append("package", records(1))
            await log.trim("package", Retention())
            assert await db.fetchval(PARTITIONS) == 2

    asyncio.run(scenario())


@pytest.mark.parametrize("page", [1, 1000])
def test_a_page_is_read_by_index_from_a_partition_without_statistics(postgres_url: str, page: int) -> None:
    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, db):
            await db.execute("UPDATE topics SET partition_size = 5000")
            await log.append("package", records(12_000))
            for mode in ("force_generic_plan", "force_custom_plan"):
                await db.execute(f"SET plan_cache_mode = {mode}")
                await db.execute(f"PREPARE page (bigint, bigint, bigint) AS {reader.READ.format(id=1)}")
                plan = [row[0] for row in await db.fetch(f"EXPLAIN (ANALYZE) EXECUTE page (4990, {page}, 1000000)")]
                await db.execute("DEALLOCATE page")
                text = "\n".join(plan)
                assert "Seq Scan" not in text, text
                assert "Sort" not in text, text
                assert "Bitmap" not in text, text

    asyncio.run(scenario())


def test_keys_are_looked_up_by_index_in_partitions_without_statistics(postgres_url: str) -> None:
    fetched = """SELECT sum(idx_tup_fetch), sum(seq_tup_read) FROM pg_stat_xact_user_tables
                 WHERE relname LIKE 'records_1%'"""

    async def scenario() -> None:
        async with small_partitions(postgres_url) as (log, db):
            await db.execute("UPDATE topics SET partition_size = 5000")
            await log.append("package", records(12_000, key="k"))
            for _ in range(7):  # enough to switch to a generic plan
                async with db.transaction():
                    digests = await db.fetch("SELECT key FROM records_1 WHERE off IN (3, 11000)")
                    before = await db.fetchrow(fetched)
                    keys = [row[0] for row in digests]
                    assert await db.fetchval("SELECT append_1(1, $1, $2, $2)", keys, [b"", b""]) == [3, 11_000]
                    after = await db.fetchrow(fetched)
                assert after[0] - before[0] <= 3, "more was read than the records with these keys, and the newest"
                assert after[1] == before[1], "a table was read whole"

    asyncio.run(scenario())
