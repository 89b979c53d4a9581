"""The repository over PostgreSQL where it differs from others: sessions that are cut, and what its URL says."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator

import pytest

from callboard.backends.postgres.server import Server
from callboard.backends.repositories import open_repository
from callboard.backends.repositories.postgres import PostgresRepository
from callboard.backends.repository import Operation
from callboard.errors import ConfigError, RepositoryBusy, RepositoryUnavailable
from callboard.testing.conformance.repository.harness import a_file, file, paths, shapes
from callboard.testing.servers.postgres import PostgresServer, postgres_server

CUT = """SELECT pg_terminate_backend(l.pid) FROM pg_locks l
         WHERE l.locktype = 'advisory' AND l.classid = 1128419909 AND l.granted"""
DEADLINE_S = 60.0


async def cut_holders(url: str) -> None:
    db = await Server.of(url).connect()
    await db.fetch(CUT)
    await db.close()


async def unavailable(call: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises(RepositoryUnavailable):
        await call()


def test_a_session_cut_during_an_apply_undoes_it(postgres_url: str) -> None:
    async def scenario() -> None:
        repository = PostgresRepository(f"{postgres_url}&repository=one")
        await repository.open()
        await repository.apply([file("/a", "old")], b"old")
        loop = asyncio.get_running_loop()

        def operations() -> Iterator[Operation]:
            yield file("/a", "new")
            asyncio.run_coroutine_threadsafe(cut_holders(postgres_url), loop).result()
            yield file("/b", "new")

        await unavailable(lambda: repository.apply(operations(), b"new"))
        await unavailable(lambda: repository.save(b"without opening"))
        assert await repository.open() == b"old"
        assert shapes(repository) == {"/a": a_file("old")}
        await repository.apply([file("/b")], b"new")
        assert await repository.open() == b"new"
        await repository.close()

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_holder_that_lost_the_lock_cannot_write(postgres_url: str) -> None:
    async def scenario() -> None:
        first, second = (PostgresRepository(f"{postgres_url}&repository=one") for _ in range(2))
        await first.open()
        await cut_holders(postgres_url)
        assert await second.open() == b""
        await unavailable(lambda: first.apply([file("/a")], b"first"))
        with pytest.raises(RepositoryBusy, match="stop that one first"):
            await first.open()
        await second.apply([file("/b")], b"second")
        assert paths(second) == ["/b"]
        await asyncio.gather(first.close(), second.close())

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_server_crash_keeps_everything_applied() -> None:
    async def scenario(server: PostgresServer) -> None:
        repository = PostgresRepository(f"{server.url}&repository=one")
        await repository.open()
        for number in range(5):
            await repository.apply([file(f"/{number}", str(number))], str(number).encode())
            await asyncio.to_thread(server.kill)
            await unavailable(lambda: repository.save(b"lost"))
            await unavailable(repository.open)
            await asyncio.to_thread(server.start)
            assert await repository.open() == str(number).encode()
            assert len(paths(repository)) == number + 1
        await repository.close()

    with postgres_server() as server:
        asyncio.run(asyncio.wait_for(scenario(server), DEADLINE_S))


def test_repositories_in_one_schema_are_independent(postgres_url: str) -> None:
    async def scenario() -> None:
        one, two = (PostgresRepository(f"{postgres_url}&repository={name}") for name in ("one", "two"))
        assert (await one.open(), await two.open()) == (b"", b"")
        await one.apply([file("/a"), file("/d/x")], b"1")
        await two.apply([file("/b")], b"2")
        assert (paths(one), paths(two)) == (["/a", "/d", "/d/x"], ["/b"])
        assert (await one.open(), await two.open()) == (b"1", b"2")
        await asyncio.gather(one.close(), two.close())

    asyncio.run(scenario())


def test_paths_longer_than_an_index_entry_are_stored(postgres_url: str) -> None:
    letters = random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=3072)
    long = "".join("/" if place % 250 == 0 else letter for place, letter in enumerate(letters))
    sibling = f"{long[:-1]}-"

    async def scenario() -> None:
        repository = PostgresRepository(f"{postgres_url}&repository=one")
        await repository.open()
        await repository.apply([file(long, "long"), file(sibling, "other")], b"")
        assert [entry.path for entry in repository.entries(long, deep=True)] == [long]
        await repository.apply([file(long, "again")], b"")
        assert b"".join(next(repository.entries(sibling, deep=False)).open()) == b"other"
        assert len(paths(repository)) == long.count("/") + 1
        await repository.close()

    asyncio.run(scenario())


def test_a_url_without_a_repository_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigError, match="repository=NAME"):
        open_repository("postgresql://localhost/db", tmp_path)
    assert isinstance(open_repository("postgresql://localhost/db?repository=x", tmp_path), PostgresRepository)


def test_tables_of_another_program_are_refused_as_a_repository(postgres_url: str) -> None:
    async def scenario() -> None:
        db = await Server.of(postgres_url).connect()
        schema = await db.fetchval("SELECT 'theirs_' || floor(random() * 1000000000)::text")
        await db.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.entries (theirs text)")
        repository = PostgresRepository(re.sub("schema=[^&]*", f"schema={schema}", postgres_url) + "&repository=one")
        with pytest.raises(ConfigError, match="tables of another program, such as entries"):
            await repository.open()
        tables = "SELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = $1"
        assert await db.fetchval(tables, schema) == "entries"
        await db.execute(f"DROP SCHEMA {schema} CASCADE")
        await asyncio.gather(repository.close(), db.close())

    asyncio.run(scenario())
