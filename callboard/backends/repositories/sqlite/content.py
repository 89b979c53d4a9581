"""Carries out operations on the tables of a SQLite repository, in the caller's transaction."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repositories.operation_check import check_content
from callboard.backends.repositories.paths import parent_of, with_parents
from callboard.backends.repositories.sqlite.source import below
from callboard.backends.repository import MISSING_FOLDER_MODE, Delete, Entry, EntryKind, Keep, Operation, Prune, Put


class SqliteContent:
    """The operations of one apply. Database errors pass through ``own_errors``, those of content do not."""

    def __init__(
        self, connection: sqlite3.Connection, own_errors: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._connection = connection
        self._own_errors = own_errors
        self._folders = {"/"}

    def carry_out(self, operation: Operation) -> None:
        """Apply the operation."""
        if isinstance(operation, Put) and operation.entry.kind is EntryKind.FILE:
            self._put_file(operation)
            return
        with self._own_errors():
            match operation:
                case Keep(path, mode):
                    self._make_folder(path, mode)
                case Put(Entry(path, EntryKind.FOLDER, mode)):
                    self._make_folder(path, mode)
                    self._connection.execute("UPDATE entries SET mode = ? WHERE path = ?", (mode, path))
                case Put(Entry(path, EntryKind.LINK, target=target)):
                    self._replace(path, EntryKind.LINK, 0o777, target=target)
                case Delete(path):
                    self._remove(path)
                case Prune(path, keep):
                    self._prune(path, keep)

    def _put_file(self, put: Put) -> None:
        entry, digest, size = put.entry, hashlib.sha256(), 0
        with self._own_errors():
            identity = self._replace(entry.path, EntryKind.FILE, entry.mode, size=entry.size)
        for number, chunk in enumerate(_rechunked(entry.open())):
            size += len(chunk)
            if size > entry.size:
                break
            digest.update(chunk)
            with self._own_errors():
                self._connection.execute("INSERT INTO chunks VALUES (?, ?, ?)", (identity, number, chunk))
        check_content(put, size, digest.hexdigest())

    def _replace(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int | None:
        self._make_folder(parent_of(path), MISSING_FOLDER_MODE)
        self._remove(path)
        insert = "INSERT INTO entries (path, kind, mode, size, target) VALUES (?, ?, ?, ?, ?)"
        return self._connection.execute(insert, (path, kind, mode, size, target)).lastrowid

    def _make_folder(self, path: str, mode: int) -> None:
        """Make the path and its parents folders; ``mode`` is for the last one, if it is new."""
        missing = []
        at = path
        while at not in self._folders:
            missing.append(at)
            at = parent_of(at)
        for folder in reversed(missing):
            row = self._connection.execute("SELECT kind FROM entries WHERE path = ?", (folder,)).fetchone()
            if row is None or row[0] != EntryKind.FOLDER:
                self._connection.execute("DELETE FROM entries WHERE path = ?", (folder,))
                insert = "INSERT INTO entries (path, kind, mode) VALUES (?, ?, ?)"
                new_mode = mode if folder == path else MISSING_FOLDER_MODE
                self._connection.execute(insert, (folder, EntryKind.FOLDER, new_mode))
            self._folders.add(folder)

    def _remove(self, path: str) -> None:
        # The root stays, so it is not among the removed paths.
        first = "" if path == "/" else path
        delete = "DELETE FROM entries WHERE path = ? OR (path >= ? AND path < ?)"
        if self._connection.execute(delete, (first, *below(path))).rowcount:
            self._folders = {"/"}

    def _prune(self, path: str, keep: frozenset[str]) -> None:
        leading = with_parents(keep)
        select = "SELECT path, kind FROM entries WHERE path >= ? AND path < ?"
        found = self._connection.execute(select, below(path)).fetchall()
        # Below a removed folder nothing is kept, so all of that is found here as well.
        gone = [
            (name,)
            for name, kind in found
            if name not in (leading if kind == EntryKind.FOLDER else keep)
        ]
        self._connection.executemany("DELETE FROM entries WHERE path = ?", gone)
        self._folders = {"/"}


def _rechunked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in rows of at most ``CHUNK_BYTES``."""
    for chunk in chunks:
        for start in range(0, len(chunk), CHUNK_BYTES):
            yield chunk[start : start + CHUNK_BYTES]
