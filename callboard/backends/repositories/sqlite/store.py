"""The SQLite repository itself, with blocking calls."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from callboard.backends.fence import Fence, Token
from callboard.backends.local.disk import disk_errors, take_lock
from callboard.backends.repositories.occupation import refuse_content
from callboard.backends.repositories.operation_check import check_operation
from callboard.backends.repositories.sqlite.content import SqliteContent
from callboard.backends.repositories.sqlite.source import SqliteSource
from callboard.backends.repository import Entry, Operation
from callboard.errors import RepositoryOccupied, RepositoryUnavailable, SchemaTooNew

FORMAT = 2
"""``PRAGMA user_version``: incremented with every change that an older version would misread."""

UNFENCED_FORMAT = 1
"""The format without a token, which an older version can write."""

APPLICATION_ID = 0x43424F41
"""``PRAGMA application_id``, the letters CBOA: tells a repository from another program's file."""

MAGIC, HEADER_BYTES = b"SQLite format 3\0", 100
"""The start of every SQLite file, and the length of its header."""

WAL_KEPT_BYTES = 64 << 20
"""The write-ahead log is truncated to this size after a larger transaction."""

BUSY_TIMEOUT_S = 5.0
"""How long a write waits for another program, such as a backup, that holds the file."""

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    kind INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    size INTEGER NOT NULL DEFAULT 0,
    target TEXT NOT NULL DEFAULT ''
);
CREATE TABLE chunks (
    entry INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (entry, number)
);
CREATE TABLE ledger (only INTEGER PRIMARY KEY CHECK (only = 1), content BLOB NOT NULL);
INSERT INTO entries (path, kind, mode) VALUES ('/', 0, {0o755});
INSERT INTO ledger VALUES (1, x'');
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {UNFENCED_FORMAT};
COMMIT;
"""  # noqa: S608 - only constants

_FENCE = (
    "CREATE TABLE IF NOT EXISTS fence (only INTEGER PRIMARY KEY CHECK (only = 1), log_id TEXT, leader_epoch INTEGER)"
)


class SqliteStore:
    """See ``callboard.backends.repository.Repository`` for what each method does and raises."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()  # SQLite, too, resolves links to name a file's companions
        self._source = SqliteSource(self._path)
        self._lock: int | None = None
        self._connection: sqlite3.Connection | None = None
        self._highest: Token | None = None

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """Read the content as of the last apply; works without ``open``."""
        return self._source.entries(path, deep)

    def open(self, occupied: bool = False) -> bytes:
        """Take the lock unless this object has it, and return the ledger."""
        with self._own_errors():
            if self._lock is None:
                self._refuse_foreign_file()  # before any file is created beside it
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._lock = take_lock(self._path.with_name(self._path.name + ".lock"), self._path)
            self._disconnect()
            self._connection = self._connect()
            (ledger,) = self._connection.execute("SELECT content FROM ledger").fetchone()
            self._highest = _highest(self._connection)
        if not ledger and not occupied:
            try:
                refuse_content(str(self._path), self._source)
            except RepositoryOccupied:
                self.close()
                raise
        return bytes(ledger)

    def apply(self, operations: Iterable[Operation], ledger: bytes, token: Token | None = None) -> None:
        """Carry out the operations in one transaction; its commit makes the new state valid."""
        connection = self._connected()
        with self._transaction(connection, token):
            content = SqliteContent(connection, self._own_errors)
            for operation in operations:
                check_operation(operation)
                content.carry_out(operation)
            with self._own_errors():
                connection.execute("UPDATE ledger SET content = ?", (ledger,))

    def save(self, ledger: bytes, durable: bool = True, token: Token | None = None, reset: bool = False) -> None:
        """Replace the ledger; without ``durable`` the write-ahead log is not synced."""
        connection = self._connected()
        with self._own_errors():
            durable = durable or token != self._highest
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        try:
            with self._transaction(connection, token, reset), self._own_errors():
                connection.execute("UPDATE ledger SET content = ?", (ledger,))
        finally:
            with self._own_errors():
                connection.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the file and release the lock."""
        self._disconnect()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, token: Token | None, reset: bool = False) -> Iterator[None]:
        with self._own_errors():
            connection.execute("BEGIN IMMEDIATE")
        try:
            with self._own_errors():
                if reset or Fence(_highest(connection)).admit(token):
                    _keep(connection, token)
            yield
            with self._own_errors():
                connection.execute("COMMIT")
            self._highest = token
        except BaseException:
            # A full disk makes SQLite roll back by itself.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _refuse_foreign_file(self) -> None:
        """Raise for a file that is not a SQLite database, belongs to another program, or has a second hard link."""
        if self._path.exists() and not (self._path.is_file() or self._path.is_dir()):  # opening a pipe may block
            raise RepositoryOccupied(f"{self._path} is a pipe, a socket or a device, not a file; choose another place")
        try:
            with self._path.open("rb") as file:
                if (names := os.fstat(file.fileno()).st_nlink) > 1:
                    # Lock and write-ahead log belong to the name: another name would bypass both.
                    raise RepositoryUnavailable(
                        f"{self._path} has {names} names, and is a repository by one only; find the others "
                        f"(find -samefile {self._path}) and remove them, then try again"
                    )
                header = file.read(HEADER_BYTES)
        except FileNotFoundError:
            return
        if not header:
            return
        ours = int.from_bytes(header[68:72], "big") == APPLICATION_ID
        if not header.startswith(MAGIC) or not (ours or self._is_blank()):
            raise RepositoryOccupied(
                f"{self._path} is not a repository of callboard but something else's file, and is left as it is; "
                "choose another file, or if it was one, restore it from a backup"
            )

    def _is_blank(self) -> bool:
        """Whether the file has no tables; one that callboard creates gets its mark together with its tables."""
        uri = self._path.as_uri() + "?immutable=1"  # creates no file beside it
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return not tables

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RepositoryUnavailable(f"{self._path} is not open; call open() first")
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        # Transactions are explicit; each call of these methods may come from another thread.
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and application != APPLICATION_ID:  # in a write-ahead log that has not reached the file
                raise RepositoryOccupied(f"{self._path} belongs to another program; choose another file")
            if version > FORMAT:
                raise SchemaTooNew(
                    f"{self._path} has format {version} but this version knows {FORMAT}; upgrade callboard"
                )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
            if not tables:
                connection.executescript(_SCHEMA)
            connection.execute(_FENCE)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            with disk_errors(RepositoryUnavailable, self._path):
                yield
        except sqlite3.OperationalError as error:
            raise RepositoryUnavailable(
                f"{self._path}: {error}; free space or give this user write permission, then try again"
            ) from error
        except sqlite3.DatabaseError as error:
            raise RepositoryUnavailable(
                f"{self._path}: {error}; restore it from a backup or choose another file"
            ) from error


def _highest(connection: sqlite3.Connection) -> Token | None:
    row = connection.execute("SELECT log_id, leader_epoch FROM fence").fetchone()
    return Token(*row) if row else None


def _keep(connection: sqlite3.Connection, token: Token | None) -> None:
    connection.execute("DELETE FROM fence")
    if token is not None:
        connection.execute("INSERT INTO fence VALUES (1, ?, ?)", (token.log_id, token.leader_epoch))
    connection.execute(f"PRAGMA user_version = {UNFENCED_FORMAT if token is None else FORMAT}")
