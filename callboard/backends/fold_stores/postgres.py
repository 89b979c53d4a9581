"""Folds in a PostgreSQL database. Its schema may hold other folds, and other tables."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import islice
from typing import Any

from callboard.backends.fold_store import Fold, Keys, Loaded, Row, Rows, Table
from callboard.backends.fold_stores.postgres_tables import TYPES, PostgresTables
from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import ConfigError, RepositoryUnavailable

SCHEMA = "public"
"""Where tables and view are if the URL names no schema: there others look for the view."""

LOCK_TIMEOUT_S = 10.0
"""How long a statement waits for others that hold the fold, its tables or its view."""

CLOSE_TIMEOUT_S = 2.0
"""Limit for a clean disconnect, which is optional."""

ROWS_TOGETHER = 200
"""Rows of one statement: snapshots are of any size, and a message has at most 1 GB."""

_LASTING = ("22", "2B", "42", "54")
"""Classes of SQLSTATE that say the same the next time: about values, dependent objects, names and sizes."""


class PostgresFolds:
    """A ``FoldStore`` over one connection, which is opened when it is needed, and again after any error.

    Args:
        url: ``postgresql://user@host/database``, with ``?schema=`` for another schema than ``public``.
        fold: what is to be kept.

    Raises:
        ConfigError: for a URL that names no database.
    """

    def __init__(self, url: str, fold: Fold) -> None:
        self._server, self._fold = Server.of(url, SCHEMA), fold
        self._tables = PostgresTables(self._server, fold)
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()

    async def load(self, keys: Keys) -> Loaded:
        """See ``FoldStore.load``."""
        async with self._reading() as (connection, mark):
            rows = {}
            for table in self._fold.tables:
                if wanted := keys.get(table.name):
                    rows[table.name] = await self._select(connection, table, "WHERE key = ANY($1)", list(wanted))
            return Loaded(mark, rows)

    async def scan(self, table: str, after: str, limit: int) -> Loaded:
        """See ``FoldStore.scan``."""
        its = next(each for each in self._fold.tables if each.name == table)
        async with self._reading() as (connection, mark):
            some = "WHERE key > $1 ORDER BY key LIMIT $2"
            return Loaded(mark, {table: await self._select(connection, its, some, after, limit)})

    async def save(self, was: str, mark: str, rows: Rows) -> str:
        """See ``FoldStore.save``."""
        async with self._writing() as (connection, present):
            if present != was:
                return present
            for table in self._fold.tables:
                changes = rows.get(table.name, {})
                await self._insert(connection, table, ((key, *row) for key, row in changes.items() if row is not None))
                if gone := [key for key, row in changes.items() if row is None]:
                    delete = f"DELETE FROM {self._tables.name(table)} WHERE key = ANY($1)"  # noqa: S608 - our own names
                    await connection.execute(delete, gone)
            await self._tables.set_mark(connection, mark)
            return mark

    async def clear(self, was: str) -> str:
        """See ``FoldStore.clear``."""
        async with self._writing() as (connection, present):
            if present != was:
                return present
            for name in self._tables.names():
                await connection.execute(f"DELETE FROM {name}")  # noqa: S608 - our own names
            await self._tables.set_mark(connection, "")
            return ""

    async def publish(self) -> None:
        """See ``FoldStore.publish``."""
        async with self._writing(alone=True) as (connection, _):
            await self._tables.publish(connection)

    async def rebuild(self) -> None:
        """See ``FoldStore.rebuild``."""
        async with self._writing(alone=True) as (connection, _):
            await self._tables.begin(connection)

    async def close(self) -> None:
        """See ``FoldStore.close``."""
        async with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):  # it may be lost
                    await connection.close(timeout=CLOSE_TIMEOUT_S)

    async def _select(self, connection: Connection, table: Table, where: str, *values: object) -> dict[str, Row]:
        columns = "".join(f', "{name}"' for name, _ in table.columns)
        select = f"SELECT key{columns} FROM {self._tables.name(table)} {where}"  # noqa: S608 - our own names
        return {row[0]: tuple(row)[1:] for row in await connection.fetch(select, *values)}

    async def _insert(self, connection: Connection, table: Table, rows: Iterator[tuple[Any, ...]]) -> None:
        kinds = ["text", *(TYPES[kind] for _, kind in table.columns)]
        arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(kinds, 1))
        changes = ", ".join(f'"{name}" = excluded."{name}"' for name, _ in table.columns)
        insert = (
            f"INSERT INTO {self._tables.name(table)} SELECT * FROM unnest({arrays})"  # noqa: S608 - our own names
            f" ON CONFLICT (key) DO {f'UPDATE SET {changes}' if changes else 'NOTHING'}"
        )
        while some := list(islice(rows, ROWS_TOGETHER)):
            await connection.execute(insert, *map(list, zip(*some, strict=True)))

    # Transactions. After an error, or when the call is cancelled, the connection is given up with its transaction.

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[tuple[Connection, str]]:
        """A snapshot, and the mark in it."""
        async with self._connected() as connection:
            while (mark := await self._begin_reading(connection)) is None:
                await connection.execute("ROLLBACK; BEGIN ISOLATION LEVEL READ COMMITTED")
                await self._tables.find(connection)
                if not self._tables.number:
                    await self._tables.open(connection)
                await connection.execute("COMMIT")
            yield connection, mark
            await connection.execute("COMMIT")

    async def _begin_reading(self, connection: Connection) -> str | None:
        """The mark; None if the rows are not known yet, or not there any more. The tables are locked before the
        snapshot is taken, so that they exist as long as it does.
        """
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if not self._tables.number:
            return None
        try:
            await connection.execute(f"LOCK TABLE {', '.join(self._tables.names())} IN ACCESS SHARE MODE")
        except asyncpg.UndefinedTableError:
            return None
        return await self._tables.mark(connection)

    @asynccontextmanager
    async def _writing(self, *, alone: bool = False) -> AsyncIterator[tuple[Connection, str]]:
        """A transaction that holds the fold, and the mark. ``alone``: to create and drop tables."""
        async with self._connected() as connection:
            await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            if alone:
                await self._tables.lock(connection)
            mark = await self._tables.mark(connection, "FOR UPDATE") if self._tables.number else None
            if mark is None:
                await self._tables.open(connection)
                mark = await self._tables.mark(connection, "FOR UPDATE")
            assert mark is not None
            yield connection, mark
            await connection.execute("COMMIT")

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        async with self._turn:
            try:
                with _corrected(self._server):
                    if self._connection is None or self._connection.is_closed():
                        self._connection = await self._server.connect()
                        await self._connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")
                    yield self._connection
            except BaseException:
                connection, self._connection = self._connection, None
                if connection is not None:
                    connection.terminate()
                self._tables.number = 0
                raise


@contextmanager
def _corrected(server: Server) -> Iterator[None]:
    """Errors as callboard's, with the advice that this store needs."""
    where = f"{server.name}, schema {server.schema}"
    try:
        with explained(server, RepositoryUnavailable):
            try:
                yield
            except asyncpg.InsufficientPrivilegeError as error:
                advice = "let the user of the URL use the schema, create in it, and own callboard's tables there"
                raise ConfigError(f"{where}: {server.said(error)}; {advice}") from server.harmless(error)
            except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
                advice = "the next attempt makes the rows again from the log"
                raise RepositoryUnavailable(f"{where}: {server.said(error)}; {advice}") from server.harmless(error)
    except asyncpg.PostgresError as error:
        lasts = (error.sqlstate or "").startswith(_LASTING)
        kind, advice = (ConfigError, "correct that first") if lasts else (RepositoryUnavailable, "then try again")
        raise kind(f"{where}: {server.said(error)}; {advice}") from server.harmless(error)
