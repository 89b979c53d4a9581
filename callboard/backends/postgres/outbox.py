"""The table in which callers leave jobs within their own transactions, until a relay has brought them to the log."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import ConfigError, LogUnavailable

SQL = """\
CREATE TABLE IF NOT EXISTS callboard_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp() CHECK (isfinite(added_at)),
    topic text NOT NULL,
    payload bytea NOT NULL,
    options jsonb NOT NULL DEFAULT '{}',
    batch text,  -- the record in which a relay appends it
    problem text  -- why the relays leave it where it is
);
CREATE OR REPLACE FUNCTION callboard_outbox_added() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('callboard_outbox', ''); RETURN NULL; END $$;
CREATE OR REPLACE TRIGGER callboard_outbox_added AFTER INSERT ON callboard_outbox
    FOR EACH STATEMENT EXECUTE FUNCTION callboard_outbox_added();
"""

CREATE = "create it: callboard outbox create --database URL"

_LOCK = "SELECT pg_try_advisory_lock(7161115970417000448 + 'callboard_outbox'::regclass::oid::bigint)"

_ASSIGN = """
WITH rows AS (
    SELECT id, sum(octet_length(payload) + octet_length(options::text)) OVER (ORDER BY id) AS bytes,
        row_number() OVER (ORDER BY id) AS place
    FROM callboard_outbox WHERE batch IS NULL AND problem IS NULL ORDER BY id LIMIT $2
)
UPDATE callboard_outbox SET batch = $1 WHERE id IN (SELECT id FROM rows WHERE bytes <= $3 OR place = 1)"""

_ROWS = """
SELECT id, (extract(epoch FROM added_at) * 1000)::bigint AS added_ms, topic, payload, options::text
FROM callboard_outbox WHERE batch = $1 AND problem IS NULL ORDER BY id"""

_STATE = """
SELECT count(*) FILTER (WHERE problem IS NULL) AS waiting, count(problem) AS set_aside, max(problem) AS problem,
    coalesce(extract(epoch FROM clock_timestamp() - min(added_at) FILTER (WHERE problem IS NULL)), 0)::float8
        AS oldest_s
FROM callboard_outbox"""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A job in the outbox; ``options`` are JSON."""

    id: int
    added_ms: int
    topic: str
    payload: bytes
    options: str


@dataclass(frozen=True, slots=True)
class OutboxState:
    """What is in an outbox: how many jobs wait, the oldest for how many seconds; how many are set aside because they
    cannot be added, and why one of them cannot.
    """

    waiting: int
    oldest_s: float
    set_aside: int
    problem: str


class OutboxTable:
    """The table, over one connection; see ``opened``."""

    def __init__(self, server: Server, connection: Connection) -> None:
        self._server, self._connection = server, connection
        self._news = asyncio.Event()

    async def is_free(self) -> bool:
        """Whether this is the one connection that may empty it, from now on until it is closed."""
        with _explained(self._server):
            return bool(await self._connection.fetchval(_LOCK))

    async def listen(self) -> None:
        """Have ``news`` hear of new rows."""
        with _explained(self._server):
            await self._connection.add_listener("callboard_outbox", lambda *_: self._news.set())
        self._connection.add_termination_listener(lambda _: self._news.set())

    async def news(self, timeout_s: float) -> None:
        """Wait until rows were committed since the last call, or for the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        self._news.clear()

    async def batches(self) -> list[str]:
        """The batches that are not removed yet."""
        with _explained(self._server):
            found = await self._connection.fetch(
                "SELECT batch FROM callboard_outbox WHERE batch IS NOT NULL AND problem IS NULL GROUP BY batch"
                " ORDER BY min(id)"
            )
        return [row[0] for row in found]

    @asynccontextmanager
    async def assigned(self, batch: str, rows_max: int, bytes_max: int) -> AsyncIterator[list[OutboxRow]]:
        """Give the oldest rows to the batch; committed with what the caller does inside ``async with``."""
        with _explained(self._server):
            async with self._connection.transaction():
                await self._connection.execute(_ASSIGN, batch, rows_max, bytes_max)
                yield await self.rows(batch)

    async def rows(self, batch: str) -> list[OutboxRow]:
        """The rows of a batch, in their order."""
        with _explained(self._server):
            return [OutboxRow(*row) for row in await self._connection.fetch(_ROWS, batch)]

    async def set_aside(self, rows: Mapping[int, str]) -> None:
        """Leave rows where they are, for these reasons."""
        with _explained(self._server):
            await self._connection.executemany(
                "UPDATE callboard_outbox SET batch = NULL, problem = $2 WHERE id = $1", list(rows.items())
            )

    async def give_back(self, batch: str) -> None:
        """Have the rows of a batch wait again."""
        with _explained(self._server):
            await self._connection.execute("UPDATE callboard_outbox SET batch = NULL WHERE batch = $1", batch)

    async def remove(self, batch: str) -> None:
        """Remove a batch that is on the log."""
        with _explained(self._server):
            await self._connection.execute("DELETE FROM callboard_outbox WHERE batch = $1", batch)

    async def state(self) -> OutboxState:
        """What is in it."""
        with _explained(self._server):
            row = await self._connection.fetchrow(_STATE)
        assert row is not None
        return OutboxState(row["waiting"], row["oldest_s"], row["set_aside"], row["problem"] or "")


def server_of(url: str) -> Server:
    """The database at the URL. Without ``schema=``, the table is in ``public``. Raises ``ConfigError``."""
    return Server.of(url, "public")


@asynccontextmanager
async def opened(server: Server, *, create: bool = False) -> AsyncIterator[OutboxTable]:
    """Connect to the table. Raises ``ConfigError`` if there is none, unless it is to be created."""
    with _explained(server):
        connection = await server.connect()
    try:
        with _explained(server):
            if create:
                await connection.execute(SQL)
            elif await connection.fetchval("SELECT to_regclass('callboard_outbox')") is None:
                raise ConfigError(f"{server.name}, schema {server.schema}, has no table callboard_outbox; {CREATE}")
        yield OutboxTable(server, connection)
    finally:
        connection.terminate()


@contextmanager
def _explained(server: Server) -> Iterator[None]:
    try:
        with explained(server):
            yield
    except asyncpg.PostgresError as error:
        raise LogUnavailable(f"{server.name}: {server.said(error)}") from server.harmless(error)
