"""The stores for folds."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from callboard.backends.fold_stores import open_fold_store
from callboard.backends.fold_stores.sqlite import MEMORY, SqliteFolds
from callboard.backends.fold_stores.threaded import DirectFolds, ThreadedFolds
from callboard.backends.postgres.server import Server
from callboard.testing.conformance.candidates import Candidate, New, chosen, without_server
from callboard.testing.conformance.fold_store import FoldStoreHarness
from callboard.testing.servers.postgres import INSTALLATIONS, NAMED, own_schema, postgres_server


@contextmanager
def memory_folds() -> Iterator[FoldStoreHarness]:
    """A harness for stores in memory, each with its own database."""
    yield FoldStoreHarness(lambda fold: DirectFolds(SqliteFolds(MEMORY, fold)))


@contextmanager
def sqlite_folds(kind: Callable[..., SqliteFolds] = SqliteFolds) -> Iterator[FoldStoreHarness]:
    """A harness for stores in one SQLite file."""
    with tempfile.TemporaryDirectory(prefix="callboard-folds-") as folder:
        path = f"{folder}/folds.db"

        def execute_now(statement: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                return db.execute(statement).fetchall()

        async def execute(statement: str) -> list[tuple[Any, ...]]:
            return await asyncio.to_thread(execute_now, statement)

        async def relations() -> set[str]:
            found = execute_now("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            return {name for (name,) in found if not name.startswith("sqlite_")}

        def make(fold: Any) -> ThreadedFolds:
            return ThreadedFolds(kind(path, fold))

        yield FoldStoreHarness(make, make, execute, relations)


@contextmanager
def postgres_folds(server_url: str) -> Iterator[FoldStoreHarness]:
    """A harness for stores in a private schema of a database."""
    with own_schema(server_url) as url:
        server = Server.of(url)

        async def execute(statement: str) -> list[tuple[Any, ...]]:
            db = await server.connect()
            try:
                if not await db.fetchval("SELECT to_regnamespace($1) IS NOT NULL", server.schema):
                    await db.execute(f"CREATE SCHEMA {server.schema}")
                return [tuple(row) for row in await db.fetch(statement)]
            finally:
                await db.close()

        async def relations() -> set[str]:
            where = "relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v')"
            return {row[0] for row in await execute(f"SELECT relname FROM pg_class WHERE {where}")}  # noqa: S608

        make = partial(open_fold_store, url, Path())
        yield FoldStoreHarness(make, make, execute, relations)


def postgres_candidate(version: int) -> Candidate[FoldStoreHarness]:
    """The store on a private server."""

    @contextmanager
    def start() -> Iterator[New[FoldStoreHarness]]:
        with postgres_server(version) as server:
            yield partial(postgres_folds, server.url)

    return Candidate(f"postgres-{version}", start)


def own_fold_stores(only: Sequence[str] = ()) -> list[Candidate[FoldStoreHarness]]:
    """Every store of callboard, or those with these names."""
    named = os.environ.get(NAMED, "")
    every = [
        without_server("memory", memory_folds),
        without_server("sqlite", sqlite_folds),
        *(postgres_candidate(version) for version in INSTALLATIONS),
        *([without_server("postgres-named", partial(postgres_folds, named))] if named else []),
    ]
    return chosen(every, only, postgres_candidate)
