"""What the leader of the tests does: it increments two counters. It reads, waits a little and writes, so that two
leaders at once would count wrongly. One counter is guarded by the fencing token, as ``docs/topology.md`` shows.
"""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Protocol, cast

import asyncpg

from callboard import LeaderReplaced, Token
from callboard.backends.postgres.server import Server

SCHEMA = (
    "CREATE TABLE fences (resource text PRIMARY KEY, log_id text NOT NULL, leader_epoch bigint NOT NULL)",
    "CREATE TABLE counters (name text PRIMARY KEY, value integer NOT NULL)",
    "INSERT INTO counters VALUES ('guarded', 0), ('unguarded', 0)",
    """CREATE TABLE events (id {number} PRIMARY KEY, kind text, value integer, leader_epoch bigint, instance text,
           at_ns bigint)""",
)
ADMIT = """
    INSERT INTO fences VALUES ('counter', $1, $2)
    ON CONFLICT (resource) DO UPDATE SET leader_epoch = excluded.leader_epoch
        WHERE fences.log_id = excluded.log_id AND fences.leader_epoch <= excluded.leader_epoch
    RETURNING resource"""
NOTE = "INSERT INTO events (kind, value, leader_epoch, instance, at_ns) VALUES ($1, $2, $3, $4, $5)"
UNGUARDED = """
    WITH counted AS (UPDATE counters SET value = $1 WHERE name = 'unguarded' RETURNING value)
    INSERT INTO events (kind, value, leader_epoch, instance, at_ns)
    SELECT 'unguarded', value, $2, $3, $4 FROM counted"""
GUARDED = f"""
    WITH admitted AS ({ADMIT}),
        counted AS (UPDATE counters SET value = $3 FROM admitted WHERE name = 'guarded' RETURNING value)
    INSERT INTO events (kind, value, leader_epoch, instance, at_ns) SELECT 'guarded', value, $2, $4, $5 FROM counted
    RETURNING id"""

LOCKED_S = 0.2
"""Seconds; a leader must not be kept from renewing its lease by one that was suspended in its transaction."""

UNREACHABLE = (OSError, sqlite3.OperationalError, asyncpg.PostgresError, asyncpg.InterfaceError)


class Event(NamedTuple):
    """A write (``guarded``, ``unguarded``), or the end of a leader's work: it was ``refused`` a write or
    ``cancelled``, or the database ``failed``.
    """

    kind: str
    value: int
    leader_epoch: int
    instance: str
    at_ns: int


class Counters(Protocol):
    """The counters in a database, as one connection sees them."""

    async def fetch(self, sql: str, *given: Any) -> list[Any]:
        """Run one statement, and commit it."""

    async def write(self, name: str, event: Event, token: Token) -> None:
        """Set a counter. Raises ``LeaderReplaced`` if the token guards it, and does not admit this."""


class SqliteCounters:
    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=LOCKED_S, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = wal")
        self._db.execute("PRAGMA synchronous = off")  # processes are killed, the machine is not

    async def fetch(self, sql: str, *given: Any) -> list[Any]:
        return self._db.execute(sql.replace("$", "?"), given).fetchall()

    async def write(self, name: str, event: Event, token: Token) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if name == "guarded" and not await self.fetch(ADMIT, token.log_id, token.leader_epoch):
                raise LeaderReplaced("another leader counts now")
            await self.fetch("UPDATE counters SET value = $1 WHERE name = $2", event.value, name)
            await self.fetch(NOTE, *event)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    async def close(self) -> None:
        self._db.close()


class PostgresCounters:
    """Every write is one statement, or a leader that is suspended in a transaction would hold up its successor."""

    def __init__(self, connection: Any) -> None:
        self._db = connection

    async def fetch(self, sql: str, *given: Any) -> list[Any]:
        return cast("list[Any]", await self._db.fetch(sql, *given))

    async def write(self, name: str, event: Event, token: Token) -> None:
        own = event.value, event.instance, event.at_ns
        if name != "guarded":
            await self.fetch(UNGUARDED, event.value, event.leader_epoch, event.instance, event.at_ns)
        elif not await self.fetch(GUARDED, token.log_id, token.leader_epoch, *own):
            raise LeaderReplaced("another leader counts now")

    async def close(self) -> None:
        await self._db.close()


@asynccontextmanager
async def opened(url: str, *, create: bool = False) -> AsyncIterator[Counters]:
    """The counters at this URL of PostgreSQL, or in this file of SQLite."""
    counters: SqliteCounters | PostgresCounters
    if is_postgres := url.startswith("postgresql:"):
        server = Server.of(url)
        connection = await server.connect()
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {server.schema}")
        counters = PostgresCounters(connection)
    else:
        counters = SqliteCounters(url)
    try:
        for statement in SCHEMA if create else ():
            await counters.fetch(statement.format(number="bigserial" if is_postgres else "integer"))
        yield counters
    finally:
        await counters.close()


async def history(counters: Counters, after: str = "TRUE") -> list[Event]:
    """The events, in the order of the transactions."""
    columns = ", ".join(Event._fields)
    rows = await counters.fetch(f"SELECT {columns} FROM events WHERE {after} ORDER BY id")
    return [Event(*row) for row in rows]
