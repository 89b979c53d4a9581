"""Records are committed together with the caller's own changes, or not at all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from callboard.backends.log import RECORD_BYTES_MAX, Retention
from callboard.backends.logs.postgres import PostgresLog, append_within
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import ConfigError, RecordTooLarge, TopicMissing
from callboard.messages.record import NewRecord

ONE = [NewRecord(payload=b"one", headers=(("a", "b"),), key="k")]


@asynccontextmanager
async def log_and_caller(url: str) -> AsyncIterator[tuple[PostgresLog, Connection, str]]:
    """A log, a connection of a caller that does not know its schema, and that schema."""
    log, server = PostgresLog(url), Server.of(url)
    await log.ensure("package")
    caller = await asyncpg.connect(server.dsn)
    try:
        yield log, caller, server.schema
    finally:
        await caller.close()
        await log.close()


def test_a_committed_transaction_appends_its_records(postgres_url: str) -> None:
    async def scenario() -> None:
        async with log_and_caller(postgres_url) as (log, caller, schema):
            async with caller.transaction():
                (offset,) = await append_within(caller, "package", ONE, schema=schema, clock=lambda: 7)
                assert await log.read("package", 1) == []
            (record,) = await log.read("package", 1)
            assert (record.offset, record.payload, record.headers, record.time_ns) == (offset, b"one", (("a", "b"),), 7)
            assert await log.append("package", ONE) == [offset], "keys are those of the log"

    asyncio.run(scenario())


def test_a_transaction_that_is_rolled_back_leaves_no_record(postgres_url: str) -> None:
    async def scenario() -> None:
        async with log_and_caller(postgres_url) as (log, caller, schema):
            transaction = caller.transaction()
            await transaction.start()
            await append_within(caller, "package", ONE, schema=schema)
            await transaction.rollback()
            assert await log.bounds("package") == (1, 1)
            assert await log.append("package", ONE) == [2], "the offset that was rolled back is a gap"
            assert len(await log.read("package", 1)) == 1, "who waited at the end of the empty topic is in range"

    asyncio.run(scenario())


def test_a_commit_wakes_waiting_readers(postgres_url: str) -> None:
    async def scenario() -> None:
        async with log_and_caller(postgres_url) as (log, caller, schema):
            waiting = asyncio.create_task(log.wait("package", 1, 30.0))
            async with caller.transaction():
                await append_within(caller, "package", ONE, schema=schema)
                assert not waiting.done()
            assert await waiting

    asyncio.run(scenario())


def test_an_invalid_append_is_refused(postgres_url: str) -> None:
    async def scenario() -> None:
        async with log_and_caller(postgres_url) as (_, caller, schema):
            with pytest.raises(TopicMissing):
                await append_within(caller, "nothing", ONE, schema=schema)
            with pytest.raises(RecordTooLarge):
                await append_within(caller, "package", [NewRecord(payload=bytes(RECORD_BYTES_MAX + 1))], schema=schema)
            for isolation in ("repeatable_read", "serializable"):
                with pytest.raises(ConfigError, match="READ COMMITTED"):
                    async with caller.transaction(isolation=isolation):
                        await append_within(caller, "package", ONE, schema=schema)

    asyncio.run(scenario())


def test_a_member_of_the_owner_role_creates_partitions_that_the_owner_can_drop(postgres_url: str) -> None:
    schema = Server.of(postgres_url).schema
    urls = [postgres_url.replace("postgres@", f"{schema}_{name}@") for name in ("owner", "shop")]

    async def scenario() -> None:
        admin = await Server.of(postgres_url).connect()
        await admin.execute(f"CREATE ROLE {schema}_owner LOGIN; CREATE ROLE {schema}_shop LOGIN IN ROLE {schema}_owner")
        await admin.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {schema}_owner")
        async with log_and_caller(urls[0]) as (log, _, _):
            shop = await asyncpg.connect(Server.of(urls[1]).dsn)
            async with shop.transaction():
                await append_within(shop, "package", ONE, schema=schema)
            await shop.close()
            assert len(await log.read("package", 1)) == 1
            await log.trim("package", Retention(below_offset=200_000))
            assert await admin.fetchval("SELECT to_regclass('records_1_1')") == "records_1_1"
            await admin.execute("UPDATE topics SET low = room")
            await log.trim("package", Retention())
            assert await admin.fetchval("SELECT to_regclass('records_1_1')") is None
        await admin.execute(f"DROP SCHEMA {schema} CASCADE; DROP ROLE {schema}_shop, {schema}_owner")
        await admin.close()

    asyncio.run(scenario())
