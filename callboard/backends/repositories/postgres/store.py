"""The PostgreSQL repository itself, with blocking calls."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from callboard.backends.echo import quoted
from callboard.backends.fence import Fence, Token
from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.blocking import BlockingConnection
from callboard.backends.postgres.migration import check_schema
from callboard.backends.postgres.server import Connection, Server
from callboard.backends.repositories.occupation import refuse_content
from callboard.backends.repositories.operation_check import check_operation
from callboard.backends.repositories.postgres.content import PostgresContent
from callboard.backends.repositories.postgres.source import PostgresSource
from callboard.backends.repository import Entry, Operation
from callboard.errors import ConfigError, RepositoryBusy, RepositoryOccupied, RepositoryUnavailable

_LOCK = "SELECT pg_advisory_lock(1128419909, $1)"  # CBRE: of callboard's repositories in this database

LOCK_TIMEOUT = "500ms"
"""A server takes a moment to notice that the previous holder is gone; a live holder keeps it longer."""

_ROOT = """
    INSERT INTO entries(repository, path, kind, mode) VALUES ($1, '/', 0, 493)
    ON CONFLICT DO NOTHING"""
_OPEN = "SELECT ledger, log_id, leader_epoch FROM repositories WHERE id = $1"
_RESET = "UPDATE repositories SET log_id = NULL, leader_epoch = NULL WHERE id = $1"
_SAVE = """
    UPDATE repositories SET ledger = $2, log_id = coalesce(log_id, $3), leader_epoch = greatest(leader_epoch, $4)
    WHERE id = $1 RETURNING log_id, leader_epoch"""


class PostgresStore:
    """See ``callboard.backends.repository.Repository`` for what each method does and raises.

    The session that holds the repository's lock also writes: if the lock is lost, so is the session.
    """

    def __init__(self, url: str) -> None:
        self._server = Server.of(url)
        if not self._server.repository:
            raise ConfigError(f"the URL of {self._server.name} names no repository; add ?repository=NAME")
        self._source = PostgresSource(self._server)
        self._connection: BlockingConnection | None = None
        self._id = 0
        self._highest: Token | None = None

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """Read the content as of the last apply; works without ``open``."""
        return self._source.entries(path, deep)

    def open(self, occupied: bool = False) -> bytes:
        """Take the lock unless this object has it, and return the ledger."""
        if self._connection is None or self._connection.is_closed:
            self.close()
            connection = BlockingConnection(self._server)
            try:
                self._id = connection.run(self._take)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        ((stored, *highest),) = self._connection.fetch(_OPEN, self._id)
        ledger, self._highest = bytes(stored), _token(*highest)
        if not ledger and not occupied:
            try:
                refuse_content(f"repository {quoted(self._server.repository)} of {self._server.name}", self._source)
            except RepositoryOccupied:
                self.close()
                raise
        return ledger

    def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """Carry out the operations in one transaction; its commit makes the new state valid."""
        with self._transaction(token) as connection:
            self._write(connection, ledger, token)
            content = PostgresContent(connection, self._id)
            for operation in operations:
                check_operation(operation)
                content.carry_out(operation)

    def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """Replace the ledger; without ``durable`` the commit does not wait for the disk."""
        with self._transaction(token) as connection:
            if not durable and token == self._highest:
                connection.fetch("SET LOCAL synchronous_commit = off")
            if reset:
                connection.fetch(_RESET, self._id)
            self._write(connection, ledger, token)

    def close(self) -> None:
        """Close the session, which releases the lock."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(RepositoryUnavailable):
                connection.fetch("SELECT pg_advisory_unlock_all()")  # the session ends a moment later than the call
            connection.close()

    async def _take(self, connection: Connection) -> int:
        """Take the repository's lock in this session, creating the repository if need be; returns its number."""
        name = self._server.repository
        await check_schema(self._server, connection, create=True)
        await connection.execute("INSERT INTO repositories(name) VALUES ($1) ON CONFLICT DO NOTHING", name)
        number = int(await connection.fetchval("SELECT id FROM repositories WHERE name = $1", name))
        try:
            await connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
            await connection.execute(_LOCK, number)
            await connection.execute("SET lock_timeout = 0")
        except asyncpg.LockNotAvailableError:
            raise RepositoryBusy(
                f"repository {quoted(name)} of {self._server.name} is open in another process; stop that one first"
            ) from None
        await connection.execute(_ROOT, number)
        return number

    def _write(self, connection: BlockingConnection, ledger: bytes, token: Token | None) -> None:
        """Store ledger and token, at the start of a transaction: the row's lock keeps the transactions of two leaders
        apart, even behind a connection pool that breaks the lock of the session.
        """
        given = (None, None) if token is None else (token.log_id, token.leader_epoch)
        (highest,) = connection.fetch(_SAVE, self._id, ledger, *given)
        Fence(_token(*highest)).admit(token)

    @contextmanager
    def _transaction(self, token: Token | None) -> Iterator[BlockingConnection]:
        connection = self._connection
        if connection is None:
            raise RepositoryUnavailable(f"repository {quoted(self._server.repository)} is not open; call open() first")
        connection.fetch("BEGIN")
        try:
            yield connection
            connection.fetch("COMMIT")
            self._highest = token
        except BaseException:
            with suppress(RepositoryUnavailable):
                connection.fetch("ROLLBACK")
            raise


def _token(log_id: str | None, leader_epoch: int) -> Token | None:
    return None if log_id is None else Token(log_id, leader_epoch)
