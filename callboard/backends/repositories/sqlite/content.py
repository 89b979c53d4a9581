"""Carries out operations on the tables of a SQLite repository, in the caller's transaction."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from callboard.backends.repositories.sqlite.source import below
from callboard.backends.repositories.table_content import TableContent
from callboard.backends.repository import EntryKind


class SqliteContent(TableContent):
    """The operations of one apply."""

    def __init__(self, connection: sqlite3.Connection, own_errors: Callable[[], AbstractContextManager[None]]) -> None:
        super().__init__(own_errors)
        self._connection = connection

    def _kind(self, path: str) -> int | None:
        row = self._connection.execute("SELECT kind FROM entries WHERE path = ?", (path,)).fetchone()
        return row[0] if row else None

    def _insert(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int:
        insert = "INSERT INTO entries (path, kind, mode, size, target) VALUES (?, ?, ?, ?, ?)"
        return self._connection.execute(insert, (path, kind, mode, size, target)).lastrowid or 0

    def _set_mode(self, path: str, mode: int) -> None:
        self._connection.execute("UPDATE entries SET mode = ? WHERE path = ?", (mode, path))

    def _write_chunk(self, identity: int, number: int, chunk: bytes) -> None:
        self._connection.execute("INSERT INTO chunks VALUES (?, ?, ?)", (identity, number, chunk))

    def _remove(self, path: str) -> None:
        first = "" if path == "/" else path  # the root stays
        delete = "DELETE FROM entries WHERE path = ? OR (path >= ? AND path < ?)"
        if self._connection.execute(delete, (first, *below(path))).rowcount:
            self._folders = {"/"}

    def _find_below(self, path: str) -> Iterable[tuple[int, str, int]]:
        select = "SELECT id, path, kind FROM entries WHERE path >= ? AND path < ?"
        return self._connection.execute(select, below(path)).fetchall()

    def _remove_each(self, identities: Iterable[int]) -> None:
        delete = "DELETE FROM entries WHERE id = ?"
        self._connection.executemany(delete, ((identity,) for identity in identities))
