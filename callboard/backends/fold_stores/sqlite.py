"""Folds in a SQLite file, with blocking calls. The file may hold other folds, and other tables."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from callboard.backends.fold_store import Fold, Keys, Loaded, Row, Rows, Table
from callboard.backends.fold_stores.generation import Generation, opened, outdated_by
from callboard.backends.local.disk import disk_errors
from callboard.errors import ConfigError, RepositoryOccupied, RepositoryUnavailable

BUSY_TIMEOUT_S = 10.0
"""How long a write waits for others that hold the file."""

OPENINGS_MAX = 20
"""Attempts to begin with a file with which others begin now."""

MEMORY = ":memory:"

_TYPES = {int: "INTEGER", bool: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}

_FOLDS = """\
CREATE TABLE IF NOT EXISTS callboard_folds (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, version INTEGER NOT NULL, code TEXT NOT NULL,
    mark TEXT NOT NULL DEFAULT '', published INTEGER NOT NULL DEFAULT 0
)"""
_KNOWN = "SELECT id, version, code, published FROM callboard_folds WHERE name = ? ORDER BY id"
_OTHERS = "SELECT 1 FROM callboard_folds WHERE id = ? AND name <> ?"
_MARK = "SELECT mark FROM callboard_folds WHERE (id, name, version, code) = (?, ?, ?, ?)"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND instr(name, ?) = 1"


_EMPTY_THE_WAL = f"""\
PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000:.0f}"""
"""After each change, unless others read just now: else who puts a copy in the file's place, perhaps after a crash,
gets a mixture of both. A copy of the file alone is complete, too.
"""


class SqliteFolds:
    """See ``FoldStore`` for what each method does and raises."""

    def __init__(self, path: str, fold: Fold) -> None:
        self._path, self._fold = path, fold
        self._connection: sqlite3.Connection | None = None
        self._id = 0
        self._file = 0, 0

    def load(self, keys: Keys) -> Loaded:
        """The rows with these keys."""
        with self._transaction("DEFERRED") as (connection, mark):
            rows = {}
            for table in self._fold.tables:
                if wanted := keys.get(table.name):
                    some = "WHERE key IN (SELECT value FROM json_each(?))"
                    rows[table.name] = self._select(connection, table, some, json.dumps(list(wanted)))
            return Loaded(mark, rows)

    def scan(self, table: str, after: str, limit: int) -> Loaded:
        """Rows in the order of their keys."""
        its = next(each for each in self._fold.tables if each.name == table)
        with self._transaction("DEFERRED") as (connection, mark):
            found = self._select(connection, its, "WHERE key > ? ORDER BY key LIMIT ?", after, limit)
            return Loaded(mark, {table: found})

    def save(self, was: str, mark: str, rows: Rows) -> str:
        """Change rows and mark."""
        with self._transaction("IMMEDIATE") as (connection, present):
            if present != was:
                return present
            for table in self._fold.tables:
                changes = rows.get(table.name, {})
                places = ", ".join("?" * (1 + len(table.columns)))
                connection.executemany(
                    f"INSERT OR REPLACE INTO {self._name(table)} VALUES ({places})",  # noqa: S608 - our own names
                    ((key, *row) for key, row in changes.items() if row is not None),
                )
                connection.executemany(
                    f"DELETE FROM {self._name(table)} WHERE key = ?",  # noqa: S608 - our own names
                    ((key,) for key, row in changes.items() if row is None),
                )
            connection.execute("UPDATE callboard_folds SET mark = ? WHERE id = ?", (mark, self._id))
            return mark

    def clear(self, was: str) -> str:
        """Remove all rows."""
        with self._transaction("IMMEDIATE") as (connection, present):
            if present != was:
                return present
            for table in self._fold.tables:
                connection.execute(f"DELETE FROM {self._name(table)}")  # noqa: S608 - our own names
            connection.execute("UPDATE callboard_folds SET mark = '' WHERE id = ?", (self._id,))
            return ""

    def publish(self) -> None:
        """Let the view show these rows."""
        with self._transaction("IMMEDIATE") as (connection, _):
            known = self._known(connection)
            outdated = outdated_by(self._id, known, self._fold, self._path)
            self._show(connection)
            for each in outdated:
                self._drop(connection, each.id)
            connection.execute("UPDATE callboard_folds SET published = 1 WHERE id = ?", (self._id,))

    def rebuild(self) -> None:
        """Begin new rows."""
        with self._transaction("IMMEDIATE") as (connection, _):
            self._begin(connection)

    def close(self) -> None:
        """Close the file."""
        connection, self._connection, self._id = self._connection, None, 0
        if connection is not None:
            connection.close()

    def _name(self, table: Table) -> str:
        return f"callboard_fold_{self._id}_{table.name}"

    def _select(self, connection: sqlite3.Connection, table: Table, where: str, *values: str | int) -> dict[str, Row]:
        columns = "".join(f', "{name}"' for name, _ in table.columns)
        found = connection.execute(f"SELECT key{columns} FROM {self._name(table)} {where}", values)  # noqa: S608
        bools = [place for place, (_, kind) in enumerate(table.columns, 1) if kind is bool]
        if not bools:
            return {row[0]: row[1:] for row in found}
        rows = {}
        for row in map(list, found):
            for place in bools:
                row[place] = None if row[place] is None else bool(row[place])
            rows[row[0]] = tuple(row[1:])
        return rows

    def _known(self, connection: sqlite3.Connection) -> list[Generation]:
        return [Generation(*row) for row in connection.execute(_KNOWN, (self._fold.name,))]

    def _find(self, connection: sqlite3.Connection) -> list[Generation]:
        """Find the rows of this version of the fold, if there are any. Return what is in the way of new ones."""
        found, outdated = opened(self._known(connection), self._fold, self._path)
        self._id = found.id if found is not None else 0
        if found is not None and len(self._tables(connection, found.id)) < len(self._fold.tables):
            self._id = 0  # tables were removed by hand
            return [*outdated, found]
        return list(outdated)

    def _open(self, connection: sqlite3.Connection) -> None:
        """Find the rows of this version of the fold, or begin them."""
        outdated = self._find(connection)
        if not self._id:
            for each in outdated:
                self._drop(connection, each.id)
            self._begin(connection)

    def _begin(self, connection: sqlite3.Connection) -> None:
        its = self._fold.name, self._fold.version, self._fold.code
        done = connection.execute("INSERT INTO callboard_folds (name, version, code) VALUES (?, ?, ?)", its)
        self._id = done.lastrowid or 0
        for table in self._fold.tables:
            columns = "".join(f', "{name}" {_TYPES[kind]}' for name, kind in table.columns)
            connection.execute(f"CREATE TABLE {self._name(table)} (key TEXT PRIMARY KEY{columns}) WITHOUT ROWID")

    def _drop(self, connection: sqlite3.Connection, number: int) -> None:
        for name in self._tables(connection, number):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("DELETE FROM callboard_folds WHERE id = ?", (number,))

    def _tables(self, connection: sqlite3.Connection, number: int) -> list[str]:
        return [name for (name,) in connection.execute(_TABLES, (f"callboard_fold_{number}_",))]

    def _show(self, connection: sqlite3.Connection) -> None:
        view = self._fold.view
        there = connection.execute(
            "SELECT type, sql FROM sqlite_master WHERE lower(name) = ?", (view.lower(),)
        ).fetchone()
        shows = re.search(r"callboard_fold_(\d+)_", there[1]) if there and there[0] == "view" else None
        if there and (shows is None or connection.execute(_OTHERS, (shows[1], self._fold.name)).fetchone()):
            what = f"{self._path} has a {there[0]} {view!r} of something else"
            raise RepositoryOccupied(f"{what}; rename that, or the event of the rows")
        if not there or f"callboard_fold_{self._id}_" not in there[1]:
            connection.execute(f'DROP VIEW IF EXISTS "{view}"')
            connection.execute(f'CREATE VIEW "{view}" AS SELECT * FROM {self._name(self._fold.tables[0])}')  # noqa: S608

    def _mark(self, connection: sqlite3.Connection) -> str | None:
        """The mark, if the rows are still this fold's: in another file, their number may be that of others."""
        its = self._id, self._fold.name, self._fold.version, self._fold.code
        found = connection.execute(_MARK, its).fetchone()
        return None if found is None else str(found[0])

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[tuple[sqlite3.Connection, str]]:
        """A transaction, and the mark in it. The rows are found or made first, also after others removed them."""
        with self._own_errors():
            connection = self._connected()
            connection.execute(f"BEGIN {kind}")
            try:
                mark = self._mark(connection)
                if mark is None:
                    self._find(connection)
                    mark = self._mark(connection)
                if mark is None:
                    if kind == "DEFERRED":
                        connection.execute("COMMIT")
                        connection.execute("BEGIN IMMEDIATE")
                    self._open(connection)
                    mark = self._mark(connection)
                assert mark is not None
                yield connection, mark
                connection.execute("COMMIT")
                if kind == "IMMEDIATE":
                    connection.executescript(_EMPTY_THE_WAL)
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        """The connection to the file that has the name now: another one may have taken its place."""
        if self._connection is not None and self._path != MEMORY:
            try:
                its = os.stat(self._path)  # noqa: PTH116 - at each transaction
                is_same = (its.st_dev, its.st_ino) == self._file
            except FileNotFoundError:
                is_same = False
            if not is_same:
                self.close()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if self._path != MEMORY and Path(self._path).exists() and not Path(self._path).is_file():
            raise RepositoryOccupied(f"{self._path} is no file; choose another place")
        Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            if self._fold.view:  # has readers; without them no write-ahead log, which spoils the file that follows
                _use_wal(connection)  # on one that was removed while others use it
            connection.execute("PRAGMA synchronous = NORMAL")  # rows and mark are lost together, and read again
            connection.execute(_FOLDS)
            if self._path != MEMORY:
                its = os.stat(self._path)  # noqa: PTH116 - as above
                self._file = its.st_dev, its.st_ino
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            with disk_errors(RepositoryUnavailable, Path(self._path)):
                yield
        except sqlite3.DatabaseError as error:
            self.close()  # the file may have been moved or replaced
            what, code = f"{self._path}: {error}", getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_ERROR and "no such table" not in str(error):  # those are made again
                raise ConfigError(f"{what}; correct that first") from error
            advice = "free space, give this user write permission, or end what holds it; then try again"
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                advice = "if only callboard wrote to it, remove it: its rows are made again from the log"
            raise RepositoryUnavailable(f"{what}; {advice}") from error


def _use_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait here for others that begin with the file at the same time, but with the next transaction."""
    for attempts_left in reversed(range(OPENINGS_MAX)):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not attempts_left:
                raise
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
