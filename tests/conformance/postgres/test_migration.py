"""The schema: created, migrated once, and refused if its version is another one."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from typing import Any

import pytest

from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.postgres import migration
from callboard.backends.postgres.server import Server
from callboard.errors import ConfigError, SchemaTooNew
from callboard.messages.record import NewRecord

ALL = list(migration.migrations())


def execute(url: str, sql: str) -> Any:
    async def scenario() -> Any:
        connection = await Server.of(url).connect()
        try:
            return await connection.fetch(sql) if sql.startswith("SELECT") else await connection.execute(sql)
        finally:
            await connection.close()

    return asyncio.run(scenario())


def ensure(url: str) -> None:
    async def scenario() -> None:
        log = PostgresLog(url)
        try:
            await log.ensure("package")
            await log.append("package", [NewRecord(payload=b"x")])
        finally:
            await log.close()

    asyncio.run(scenario())


def test_versions_are_numbered_without_gaps() -> None:
    assert list(range(1, len(ALL) + 1)) == ALL


def test_a_migration_applies_everything_once(postgres_url: str) -> None:
    assert asyncio.run(migration.migrate(postgres_url)) == ALL
    ensure(postgres_url)
    assert asyncio.run(migration.migrate(postgres_url)) == []
    ensure(postgres_url)


def test_one_of_four_concurrent_processes_migrates(postgres_url: str) -> None:
    code = "import asyncio, sys\nfrom callboard.backends.postgres.migration import migrate\n"
    code += "print(asyncio.run(migrate(sys.argv[1])))"

    async def scenario() -> list[str]:
        command = (sys.executable, "-c", code, postgres_url)
        processes = [await asyncio.create_subprocess_exec(*command, stdout=PIPE) for _ in range(4)]
        return [out.decode().strip() for out, _ in await asyncio.gather(*(each.communicate() for each in processes))]

    assert sorted(asyncio.run(scenario())) == sorted([str(ALL), "[]", "[]", "[]"])
    ensure(postgres_url)


def test_the_script_creates_the_same_schema_and_can_be_run_again(postgres_url: str) -> None:
    script = migration.sql(Server.of(postgres_url).schema)
    execute(postgres_url, script)
    execute(postgres_url, script)
    assert asyncio.run(migration.migrate(postgres_url)) == []
    ensure(postgres_url)


def test_ensuring_a_topic_creates_the_schema_in_a_database_without_one(postgres_url: str) -> None:
    ensure(postgres_url)
    assert [row[0] for row in execute(postgres_url, "SELECT version FROM schema_version ORDER BY 1")] == ALL


def test_only_ensure_creates_a_schema(postgres_url: str) -> None:
    async def scenario() -> None:
        log = PostgresLog(postgres_url)
        for call in (log.bounds("package"), log.append("package", []), log.identity("package")):
            with pytest.raises(ConfigError, match="callboard migrate"):
                await call
        await log.close()

    asyncio.run(scenario())


def test_use_never_changes_an_older_schema(postgres_url: str) -> None:
    ensure(postgres_url)
    execute(postgres_url, f"DELETE FROM schema_version WHERE version = {ALL[-1]}")
    with pytest.raises(ConfigError, match=f"lacks version {ALL[-1]}.*callboard migrate"):
        ensure(postgres_url)


def test_a_newer_schema_is_refused(postgres_url: str) -> None:
    ensure(postgres_url)
    execute(postgres_url, f"INSERT INTO schema_version(version) VALUES ({ALL[-1] + 1})")
    with pytest.raises(SchemaTooNew, match="upgrade callboard"):
        ensure(postgres_url)
    with pytest.raises(SchemaTooNew, match="upgrade callboard"):
        asyncio.run(migration.migrate(postgres_url))
