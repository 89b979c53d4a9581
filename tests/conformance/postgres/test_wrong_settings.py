"""Errors name the setting to correct; temporary ones are waited out."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.postgres.server import Server
from callboard.errors import ConfigError, LogReplaced, LogUnavailable
from callboard.messages.record import NewRecord
from callboard.testing.servers.postgres import PASSWORD, PostgresServer

WRONG: dict[str, tuple[Callable[[str], str], type[Exception], str]] = {
    "password": (lambda url: url.replace(PASSWORD, "wrong"), ConfigError, "correct the user or password"),
    "user": (lambda url: url.replace("postgres:", "nobody:"), ConfigError, "correct the user or password"),
    "database": (lambda url: url.replace("/postgres?", "/nothing?"), ConfigError, "create it: createdb"),
    "option": (lambda url: url + "&colour=blue", ConfigError, "an option that neither callboard nor the server knows"),
    "sslmode": (lambda url: url + "&sslmode=require", ConfigError, "do not agree on TLS: correct sslmode"),
    "sslmode value": (lambda url: url + "&sslmode=maybe", ConfigError, "correct the URL"),
    "host": (lambda url: url.replace("127.0.0.1", "host.invalid"), LogUnavailable, "correct the host in the URL"),
    "port": (lambda url: re.sub(r":\d+/", ":1/", url), LogUnavailable, "host and port in the URL"),
    "standby": (lambda url: url + "&target_session_attrs=standby", LogUnavailable, "host and port in the URL"),
}


async def use(url: str) -> None:
    log = PostgresLog(url)
    try:
        await log.ensure("package")
        await log.append("package", [NewRecord(payload=b"x")])
    finally:
        await log.close()


async def execute(url: str, *statements: str) -> None:
    db = await Server.of(url).connect()
    for statement in statements:
        await db.execute(statement)
    await db.close()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_named(name: str, newest_postgres: PostgresServer) -> None:
    spoil, kind, advice = WRONG[name]
    with pytest.raises(kind, match=advice) as raised:
        asyncio.run(use(spoil(f"{newest_postgres.tcp_url}?schema=test_wrong_settings")))
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("postgresql://localhost", "names no database"),
        ("postgresql:///", "names no database"),
        ("postgresql://localhost:123456/db", "a port is 1 to 65535"),
        ("postgresql://localhost/db?schema=Upper", "cannot name a schema"),
        ("postgresql://localhost/db?schema=pg_mine", "cannot name a schema"),
        ("postgresql://localhost/db?schema=x;drop", "cannot name a schema"),
    ],
)
def test_an_invalid_url_is_refused_at_once(url: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=advice):
        PostgresLog(url)


def test_the_primary_is_found_among_several_hosts(newest_postgres: PostgresServer) -> None:
    here = f"127.0.0.1:{newest_postgres.port}"
    several = newest_postgres.tcp_url.replace(here, f"127.0.0.1:1,{here}")

    async def scenario() -> None:
        db = await Server.of(f"{several}?target_session_attrs=read-write").connect()
        assert await db.fetchval("SELECT 1") == 1
        await db.close()

    asyncio.run(scenario())


def test_the_error_of_a_user_without_permission_says_what_to_grant(
    postgres_url: str, newest_postgres: PostgresServer
) -> None:
    schema = Server.of(postgres_url).schema
    other = f"{newest_postgres.url.replace('postgres@', f'{schema}@')}&schema={schema}"

    async def scenario() -> None:
        await execute(postgres_url, f"CREATE ROLE {schema} LOGIN")
        with pytest.raises(ConfigError, match=r"permission denied.*let the user of the URL own the schema"):
            await use(other)
        await use(postgres_url)
        with pytest.raises(ConfigError, match=r"permission denied.*let the user of the URL own the schema"):
            await use(other)
        await execute(postgres_url, f"DROP ROLE {schema}")

    asyncio.run(scenario())


@pytest.mark.parametrize("code", ["disk_full", "crash_shutdown"])
def test_a_full_disk_is_reported_and_waited_for(postgres_url: str, code: str) -> None:
    full = f"""CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
              $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '{code}'; END $$"""
    trigger = "CREATE TRIGGER full_disk BEFORE INSERT ON records_1 FOR EACH ROW EXECUTE FUNCTION full_disk()"

    async def scenario() -> None:
        log = PostgresLog(postgres_url)
        await log.ensure("package")
        await execute(postgres_url, full, trigger)
        with pytest.raises(LogUnavailable, match=r"disk is full: free some space.*same keys"):
            await log.append("package", [NewRecord(payload=b"x")])
        await execute(postgres_url, "DROP TRIGGER full_disk ON records_1")
        await log.append("package", [NewRecord(payload=b"y")])
        assert [record.payload for record in await log.read("package", 1)] == [b"y"]
        await log.close()

    asyncio.run(scenario())


def test_a_read_only_server_is_named(postgres_url: str) -> None:
    async def scenario() -> None:
        await use(postgres_url)
        with pytest.raises(LogUnavailable, match="read-only, perhaps a standby: name the primary"):
            await use(f"{postgres_url}&default_transaction_read_only=on")

    asyncio.run(scenario())


def test_a_session_without_synchronous_commit_is_made_durable(postgres_url: str) -> None:
    async def scenario() -> None:
        db = await Server.of(f"{postgres_url}&options=-csynchronous_commit%3Doff").connect()
        assert await db.fetchval("SHOW synchronous_commit") == "on"
        await db.close()

    asyncio.run(scenario())


def test_a_dropped_topic_is_noticed_and_recreated_with_another_identity(postgres_url: str) -> None:
    async def scenario() -> None:
        log = PostgresLog(postgres_url)
        await log.ensure("package")
        before = await log.identity("package")
        await execute(postgres_url, "SELECT drop_topic('package')", "SELECT ensure_topic('package')")
        for call in (lambda: log.append("package", [NewRecord(payload=b"x")]), lambda: log.read("package", 1)):
            with pytest.raises(LogReplaced, match="start again"):
                await call()
            await log.identity("package")
            await execute(postgres_url, "SELECT drop_topic('package')", "SELECT ensure_topic('package')")
        assert await log.identity("package") != before
        await log.close()

    asyncio.run(scenario())


def test_without_the_extra_the_error_names_the_pip_command() -> None:
    code = """if True:
        import sys
        sys.modules["asyncpg"] = None
        from pathlib import Path
        from callboard.backends.registry import open_log
        from callboard.errors import ExtraMissing
        try:
            open_log("postgresql://localhost/db", Path())
        except ExtraMissing as error:
            assert "pip install 'callboard[postgres]'" in str(error)
        else:
            raise AssertionError("nothing said")"""
    subprocess.run([sys.executable, "-c", code], check=True)
