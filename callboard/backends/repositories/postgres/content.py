"""Carries out operations on the tables of a PostgreSQL repository, in the caller's transaction."""

import hashlib
from collections.abc import Iterable, Iterator

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.postgres.blocking import BlockingConnection
from callboard.backends.repositories.operation_check import check_content
from callboard.backends.repositories.paths import parent_of, with_parents
from callboard.backends.repositories.postgres.source import AT_PATH, BELOW_PATH, below
from callboard.backends.repository import MISSING_FOLDER_MODE, Delete, Entry, EntryKind, Keep, Operation, Prune, Put

_INSERT = """
    INSERT INTO entries(repository, path, kind, mode, size, target) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id"""
_KIND = f"SELECT kind FROM entries WHERE {AT_PATH}"  # noqa: S608 - constants, as in the next ones
_SET_MODE = f"UPDATE entries SET mode = $3 WHERE {AT_PATH}"  # noqa: S608
_DELETE = f"DELETE FROM entries WHERE {AT_PATH} RETURNING kind"  # noqa: S608
_DELETE_BELOW = f"DELETE FROM entries WHERE {BELOW_PATH}"  # noqa: S608
_FIND_BELOW = f"SELECT id, path, kind FROM entries WHERE {BELOW_PATH}"  # noqa: S608


class PostgresContent:
    """The operations of one apply."""

    def __init__(self, connection: BlockingConnection, repository: int) -> None:
        self._connection, self._repository = connection, repository
        self._folders = {"/"}

    def carry_out(self, operation: Operation) -> None:
        """Apply the operation."""
        match operation:
            case Keep(path, mode):
                self._make_folder(path, mode)
            case Put(Entry(path, EntryKind.FOLDER, mode)):
                self._make_folder(path, mode)
                self._connection.fetch(_SET_MODE, self._repository, path.encode(), mode)
            case Put(Entry(path, EntryKind.LINK, target=target)):
                self._replace(path, EntryKind.LINK, 0o777, target=target)
            case Put():
                self._put_file(operation)
            case Delete(path):
                self._remove(path)
            case Prune(path, keep):
                self._prune(path, keep)

    def _put_file(self, put: Put) -> None:
        entry, digest, size = put.entry, hashlib.sha256(), 0
        identity = self._replace(entry.path, EntryKind.FILE, entry.mode, size=entry.size)
        for number, chunk in enumerate(_rechunked(entry.open())):
            size += len(chunk)
            if size > entry.size:
                break
            digest.update(chunk)
            self._connection.fetch("INSERT INTO chunks VALUES ($1, $2, $3)", identity, number, chunk)
        check_content(put, size, digest.hexdigest())

    def _replace(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int:
        self._make_folder(parent_of(path), MISSING_FOLDER_MODE)
        self._remove(path)
        return self._insert(path, kind, mode, size, target)

    def _insert(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int:
        row = (self._repository, path.encode(), int(kind), mode, size, target.encode())
        return int(self._connection.value(_INSERT, *row))

    def _make_folder(self, path: str, mode: int) -> None:
        """Make the path and its parents folders; ``mode`` is for the last one, if it is new."""
        missing = []
        at = path
        while at not in self._folders:
            missing.append(at)
            at = parent_of(at)
        for folder in reversed(missing):
            kind = self._connection.value(_KIND, self._repository, folder.encode())
            if kind != EntryKind.FOLDER:
                self._remove(folder)
                self._insert(folder, EntryKind.FOLDER, mode if folder == path else MISSING_FOLDER_MODE)
            self._folders.add(folder)

    def _remove(self, path: str) -> None:
        kind = EntryKind.FOLDER
        if path != "/":
            kind = self._connection.value(_DELETE, self._repository, path.encode())
        if kind == EntryKind.FOLDER:  # nothing is below other kinds
            self._connection.fetch(_DELETE_BELOW, self._repository, *below(path))
            self._folders = {"/"}

    def _prune(self, path: str, keep: frozenset[str]) -> None:
        kept, leading = ({name.encode() for name in names} for names in (keep, with_parents(keep)))
        found = self._connection.fetch(_FIND_BELOW, self._repository, *below(path))
        # Below a removed folder nothing is kept, so all of that is found here as well.
        gone = [
            identity
            for identity, name, kind in found
            if name not in (leading if kind == EntryKind.FOLDER else kept)
        ]
        self._connection.fetch("DELETE FROM entries WHERE id = ANY($1)", gone)
        self._folders = {"/"}


def _rechunked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in rows of at most ``CHUNK_BYTES``."""
    for chunk in chunks:
        for start in range(0, len(chunk), CHUNK_BYTES):
            yield chunk[start : start + CHUNK_BYTES]
