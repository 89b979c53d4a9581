"""Folds in PostgreSQL: what only this store has to do with, such as rights, other schemas and lost connections."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from callboard.backends.fold_store import Fold, Row, Table
from callboard.backends.fold_stores import postgres as postgres_module
from callboard.backends.fold_stores.postgres import PostgresFolds
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import ConfigError, RepositoryUnavailable
from callboard.testing.servers.postgres import PostgresServer, postgres_server

DEADLINE_S = 60.0
FOLD = Fold("numbers", 1, "", (Table("rows", (("number", int),)), Table("seen")), "all_numbers")
WIDER = replace(FOLD, version=2, tables=(Table("rows", (("number", int), ("more", str))), Table("seen")))
OTHER_COLUMNS = replace(FOLD, version=3, tables=(Table("rows", (("text", str),)), Table("seen")))


@asynccontextmanager
async def opened(url: str, fold: Fold = FOLD) -> AsyncIterator[PostgresFolds]:
    store = PostgresFolds(url, fold)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """Another program."""
    db = await Server.of(url, "public").connect()
    try:
        yield db
    finally:
        await db.close()


def numbered(*numbers: int) -> dict[str, dict[str, Row | None]]:
    return {"rows": {f"{number}": (number,) for number in numbers}}


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, DEADLINE_S))


def test_without_a_schema_the_view_is_where_others_look_first(newest_postgres: PostgresServer) -> None:
    async def scenario() -> None:
        async with connected(newest_postgres.url) as admin:
            await admin.execute("CREATE DATABASE tables_for_all")
            url = newest_postgres.url.replace("/postgres?", "/tables_for_all?")
            async with opened(url) as store:
                await store.save("", "1", numbered(1))
                await store.publish()
            async with connected(url) as db:
                await db.execute("RESET search_path")
                assert await db.fetchval("SELECT number FROM all_numbers") == 1
                assert await db.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = 'callboard'") == 0
            await admin.execute("DROP DATABASE tables_for_all")

    run(scenario())


def test_a_store_outlives_its_server() -> None:
    async def scenario(server: PostgresServer) -> None:
        async with opened(server.url) as store:
            await store.save("", "1", numbered(1))
            await store.publish()
            await asyncio.to_thread(server.kill)
            for call in (lambda: store.load({}), lambda: store.save("1", "2", {}), store.publish, store.rebuild):
                with pytest.raises(RepositoryUnavailable, match="hen try again"):
                    await call()
            await asyncio.to_thread(server.start)
            assert await store.save("1", "2", numbered(2)) == "2"
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            while True:
                try:
                    assert await store.load({"rows": ["1", "2"]}) == ("2", {"rows": {"1": (1,), "2": (2,)}})
                    break
                except RepositoryUnavailable:
                    pass

    with postgres_server() as server:
        run(scenario(server))


def test_a_cancelled_call_leaves_no_transaction(postgres_url: str) -> None:
    async def scenario() -> None:
        async with opened(postgres_url) as store, connected(postgres_url) as other:
            await store.save("", "1", numbered(1))
            await other.execute("BEGIN; SELECT * FROM callboard_folds FOR UPDATE")
            saving = asyncio.create_task(store.save("1", "2", numbered(2)))
            waiting = (
                "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE NOT granted AND query LIKE '%callboard_folds%' AND datname = current_database()"
            )
            async with connected(postgres_url) as db:
                while not await db.fetchval(waiting):
                    pass
                saving.cancel()
                await asyncio.gather(saving, return_exceptions=True)
                await other.execute("COMMIT")
                assert await store.save("1", "3", numbered(3)) == "3"
                assert await store.load({"rows": ["1", "2", "3"]}) == ("3", {"rows": {"1": (1,), "3": (3,)}})

    run(scenario())


def test_a_fold_that_somebody_holds_is_a_temporary_error(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_module, "LOCK_TIMEOUT_S", 0.1)

    async def scenario() -> None:
        async with opened(postgres_url) as store, connected(postgres_url) as other:
            await store.save("", "1", numbered(1))
            await store.publish()
            await other.execute("BEGIN; SELECT * FROM callboard_folds FOR UPDATE; SELECT * FROM all_numbers")
            with pytest.raises(RepositoryUnavailable, match="pg_stat_activity"):
                await store.save("1", "2", numbered(2))
            await other.execute("COMMIT; BEGIN; SELECT * FROM all_numbers")
            assert await store.save("1", "2", numbered(2)) == "2"
            await store.publish()
            await store.rebuild()
            with pytest.raises(RepositoryUnavailable, match="pg_stat_activity"):
                await store.publish()
            await other.execute("COMMIT")
            assert (await store.load({})).mark == ""
            await store.publish()

    run(scenario())


def test_grants_and_views_of_others_survive_a_new_version_whose_columns_allow_it(postgres_url: str) -> None:
    async def scenario() -> None:
        async with connected(postgres_url) as db:
            for number, fold in enumerate((FOLD, FOLD, WIDER)):
                async with opened(postgres_url, fold) as store:
                    await store.rebuild()
                    await store.save("", "1", {"rows": {"k": (number, "x")[: len(fold.tables[0].columns)]}})
                    await store.publish()
                if number == 0:
                    await db.execute("GRANT SELECT ON all_numbers TO PUBLIC")
                    await db.execute("CREATE VIEW mine AS SELECT number FROM all_numbers")
                assert await db.fetchval("SELECT number FROM mine") == number
                granted = "SELECT relacl::text LIKE '%=r/%' FROM pg_class WHERE oid = 'all_numbers'::regclass"
                assert await db.fetchval(granted)

    run(scenario())


def test_a_view_of_others_that_new_columns_would_break_is_named(postgres_url: str) -> None:
    async def scenario() -> None:
        async with connected(postgres_url) as db:
            async with opened(postgres_url) as store:
                await store.save("", "1", numbered(1))
                await store.publish()
            await db.execute("CREATE VIEW mine AS SELECT number FROM all_numbers")
            async with opened(postgres_url, OTHER_COLUMNS) as store:
                await store.save("", "1", {"rows": {"k": ("new",)}})
                with pytest.raises(ConfigError, match=r"depend on it.*mine.*correct that first"):
                    await store.publish()
                assert await db.fetchval("SELECT number FROM mine") == 1
                await db.execute("DROP VIEW mine")
                await store.publish()
                assert await db.fetchval("SELECT text FROM all_numbers") == "new"

    run(scenario())


def test_what_the_database_cannot_hold_is_told_once_and_for_all(postgres_url: str) -> None:
    async def scenario() -> None:
        async with opened(postgres_url, replace(FOLD, tables=(Table("rows", (("xmin", int),)),))) as store:
            with pytest.raises(ConfigError, match=r"xmin.*correct that first"):
                await store.load({})
        async with opened(postgres_url) as store:
            many = "".join(chr(0x4E00 + number * 7 % 9999) for number in range(1000))
            with pytest.raises(ConfigError, match="index row"):
                await store.save("", "1", {"rows": {many: (1,)}})
            with pytest.raises(ConfigError, match="0x00"):
                await store.save("", "1", {"rows": {"a\0b": (1,)}})
            assert await store.load({}) == ("", {})

    run(scenario())


def test_a_number_that_another_fold_got_in_a_restored_database_is_not_used(postgres_url: str) -> None:
    async def scenario() -> None:
        async with opened(postgres_url) as store, connected(postgres_url) as db:
            await store.save("", "1", numbered(1))
            await db.execute("UPDATE callboard_folds SET name = 'other', mark = 'theirs'")
            assert await store.save("1", "2", numbered(2)) == ""
            assert await store.save("", "2", numbered(2)) == "2"
            assert await db.fetchval("SELECT mark FROM callboard_folds WHERE name = 'other'") == "theirs"

    run(scenario())


def as_user(url: str, name: str) -> str:
    return url.replace("postgres@", f"{name}@")


def test_rights_that_are_missing_are_named(newest_postgres: PostgresServer, postgres_url: str) -> None:
    async def scenario() -> None:
        url, schema = as_user(postgres_url, "folds_reader"), Server.of(postgres_url).schema
        async with connected(newest_postgres.url) as db:
            await db.execute("CREATE ROLE folds_reader LOGIN")
            try:
                async with opened(url) as theirs:
                    with pytest.raises(ConfigError, match="permission denied for database"):
                        await theirs.load({})
                async with opened(postgres_url) as store:
                    await store.save("", "1", numbered(1))
                    await store.publish()
                    for grant, denied in (("", "schema"), (f"USAGE ON SCHEMA {schema}", "table callboard_folds")):
                        if grant:
                            await db.execute(f"GRANT {grant} TO folds_reader")
                        async with opened(url) as theirs:
                            with pytest.raises(ConfigError, match=f"permission denied for {denied}.*own callboard's"):
                                await theirs.load({})
                    await db.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO folds_reader")
                    async with opened(url) as theirs:
                        assert await theirs.load({"rows": ["1"]}) == ("1", {"rows": {"1": (1,)}})
                        with pytest.raises(ConfigError, match="permission denied"):
                            await theirs.save("1", "2", {})
            finally:
                await db.execute("DROP OWNED BY folds_reader; DROP ROLE folds_reader")

    run(scenario())


def test_a_schema_that_was_dropped_begins_anew(postgres_url: str) -> None:
    async def scenario() -> None:
        async with opened(postgres_url, replace(FOLD, view="")) as store, connected(postgres_url) as db:
            await store.save("", "1", numbered(1))
            schema = Server.of(postgres_url).schema
            await db.execute(f"SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE")
            with pytest.raises(RepositoryUnavailable, match="makes the rows again"):
                await store.save("1", "2", {})
            assert await store.load({"rows": ["1"]}) == ("", {"rows": {}})

    run(scenario())


def test_many_processes_that_begin_publish_and_rebuild_do_not_wait_for_each_other_for_ever(postgres_url: str) -> None:
    async def work(number: int) -> None:
        async with opened(postgres_url) as store:
            for turn in range(8):
                mark = (await store.load({"rows": ["1"], "seen": ["1"]})).mark
                await store.save(mark, f"{number}.{turn}", {**numbered(number), "seen": {"1": ()}})
                await (store.rebuild if (turn + number) % 3 == 0 else store.publish)()
                await store.scan("rows", "", 10)

    async def scenario() -> None:
        await asyncio.gather(*map(work, range(8)))

    run(scenario())
