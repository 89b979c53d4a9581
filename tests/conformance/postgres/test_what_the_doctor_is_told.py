"""What a PostgreSQL log reports to the doctor."""

import asyncio
import time
from collections.abc import Callable

from callboard.backends.examination import ExaminableLog, Finding, Level
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.postgres import migration
from callboard.backends.postgres.server import Server
from callboard.backends.repositories.postgres.repository import PostgresRepository
from callboard.messages.record import NewRecord
from callboard.testing.servers.postgres import PostgresServer

HOUR_NS = 3600 * 10**9
NEWEST = max(migration.migrations())


async def told(url: str, clock: Callable[[], int] = time.time_ns) -> list[Finding]:
    log = PostgresLog(url)
    try:
        assert isinstance(log, ExaminableLog)
        return (await log.examine(["package"], clock)).findings
    finally:
        await log.close()


def problems(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.what, finding.fix) for finding in found if finding.level is Level.PROBLEM]


async def ensure(url: str) -> None:
    log = PostgresLog(url)
    await log.ensure("package")
    await log.append("package", [NewRecord(payload=b"x")])
    await log.close()


async def execute(url: str, *statements: str) -> None:
    db = await Server.of(url).connect()
    for statement in statements:
        await db.execute(statement)
    await db.close()


def test_a_healthy_log_reports_versions_and_no_problem(postgres_url: str) -> None:
    asyncio.run(ensure(postgres_url))
    found = asyncio.run(told(postgres_url))
    assert not problems(found)
    assert any("answers: PostgreSQL 18" in finding.what for finding in found)
    assert any(f"has version {NEWEST}" in finding.what for finding in found)
    assert any("may append, trim and create topics" in finding.what for finding in found)


def test_a_missing_older_or_newer_schema_is_reported_with_the_command(postgres_url: str) -> None:
    async def scenario() -> None:
        ((what, fix),) = problems(await told(postgres_url))
        assert "has no schema" in what
        assert "callboard init" in fix
        await ensure(postgres_url)
        await execute(postgres_url, f"DELETE FROM schema_version WHERE version = {NEWEST}")
        ((what, fix),) = problems(await told(postgres_url))
        assert f"lacks version {NEWEST}" in what
        assert "`callboard migrate`" in fix
        await execute(postgres_url, f"INSERT INTO schema_version(version) VALUES ({NEWEST}), ({NEWEST + 1})")
        ((what, fix),) = problems(await told(postgres_url))
        assert f"has schema version {NEWEST + 1}" in what
        assert fix == "upgrade callboard"

    asyncio.run(scenario())


def test_a_wrong_clock_is_reported_with_its_direction(postgres_url: str) -> None:
    asyncio.run(ensure(postgres_url))
    for shift_ns, direction in ((HOUR_NS, "3600.0 s ahead of"), (-HOUR_NS, "3600.0 s behind")):
        clock = lambda shift_ns=shift_ns: time.time_ns() + shift_ns  # noqa: E731 - a clock of one line
        ((what, _),) = problems(asyncio.run(told(postgres_url, clock)))
        assert direction in what


def test_the_error_of_a_user_without_permission_says_what_to_grant(
    postgres_url: str, newest_postgres: PostgresServer
) -> None:
    schema = Server.of(postgres_url).schema
    other = f"{newest_postgres.url.replace('postgres@', f'{schema}@')}&schema={schema}"

    async def scenario() -> None:
        await execute(postgres_url, f"CREATE ROLE {schema} LOGIN")
        try:
            ((what, fix),) = problems(await told(other))
            assert "may not create it" in what
            assert fix == f'GRANT CREATE ON DATABASE "postgres" TO "{schema}"'
            await ensure(postgres_url)
            ((what, fix),) = problems(await told(other))
            assert "is hidden from this user" in what
            await execute(postgres_url, f"GRANT USAGE ON SCHEMA {schema} TO {schema}",
                          f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}")  # fmt: skip
            ((what, fix),) = problems(await told(other))
            assert what == "this user may not append to package"
            assert 'GRANT "postgres" TO the user of the URL' in fix
            await execute(postgres_url, f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {schema}",
                          f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO {schema}")  # fmt: skip
            ((what, fix),) = problems(await told(other))
            assert "can neither add partitions nor trim" in what
        finally:
            await execute(postgres_url, f"DROP OWNED BY {schema}", f"DROP ROLE {schema}")

    asyncio.run(scenario())


def test_a_standby_server_is_reported(postgres_url: str) -> None:
    asyncio.run(ensure(postgres_url))
    found = problems(asyncio.run(told(f"{postgres_url}&default_transaction_read_only=on")))
    assert any("can only be read" in what and "target_session_attrs=read-write" in fix for what, fix in found)


def test_a_session_that_blocks_all_appends_is_named(postgres_url: str) -> None:
    async def scenario() -> None:
        await ensure(postgres_url)
        log, db = PostgresLog(postgres_url), await Server.of(postgres_url).connect()
        number = await db.fetchval("SELECT id FROM topics WHERE name = 'package'")
        await db.execute("SELECT pg_advisory_lock(1128419140, $1)", number)
        appending = asyncio.create_task(log.append("package", [NewRecord(payload=b"y")]))
        deadline = time.monotonic() + 30
        while not (found := problems(await told(postgres_url))):
            assert time.monotonic() < deadline
        ((what, fix),) = found
        process = await db.fetchval("SELECT pg_backend_pid()")
        assert f"session {process} of user 'postgres' has blocked appends to topic package" in what
        assert f"pg_terminate_backend({process})" in fix
        await db.close()
        await appending
        await log.close()

    asyncio.run(scenario())


def test_a_repository_reports_the_same(postgres_url: str) -> None:
    async def scenario() -> list[Finding]:
        repository = PostgresRepository(f"{postgres_url}&repository=edge")
        try:
            return list(await repository.examine(time.time_ns))
        finally:
            await repository.close()

    assert "has no schema" in problems(asyncio.run(scenario()))[0][0]
    asyncio.run(ensure(postgres_url))
    assert not problems(asyncio.run(scenario()))
