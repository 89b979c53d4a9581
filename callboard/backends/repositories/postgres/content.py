"""Carries out operations on the tables of a PostgreSQL repository, in the caller's transaction."""

from collections.abc import Iterable

from callboard.backends.postgres.blocking import BlockingConnection
from callboard.backends.repositories.postgres.source import AT_PATH, BELOW_PATH, below
from callboard.backends.repositories.table_content import TableContent
from callboard.backends.repository import EntryKind

_INSERT = """
    INSERT INTO entries(repository, path, kind, mode, size, target) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id"""
_KIND = f"SELECT kind FROM entries WHERE {AT_PATH}"  # noqa: S608 - constants, as in the next ones
_SET_MODE = f"UPDATE entries SET mode = $3 WHERE {AT_PATH}"  # noqa: S608
_DELETE = f"DELETE FROM entries WHERE {AT_PATH} RETURNING kind"  # noqa: S608
_DELETE_BELOW = f"DELETE FROM entries WHERE {BELOW_PATH}"  # noqa: S608
_FIND_BELOW = f"SELECT id, path, kind FROM entries WHERE {BELOW_PATH}"  # noqa: S608


class PostgresContent(TableContent):
    """The operations of one apply; the connection explains its errors itself."""

    def __init__(self, connection: BlockingConnection, repository: int) -> None:
        super().__init__()
        self._connection, self._repository = connection, repository

    def _kind(self, path: str) -> int | None:
        return self._connection.value(_KIND, self._repository, path.encode())  # type: ignore[no-any-return]

    def _insert(self, path: str, kind: EntryKind, mode: int, size: int = 0, target: str = "") -> int:
        row = (self._repository, path.encode(), int(kind), mode, size, target.encode())
        return int(self._connection.value(_INSERT, *row))

    def _set_mode(self, path: str, mode: int) -> None:
        self._connection.fetch(_SET_MODE, self._repository, path.encode(), mode)

    def _write_chunk(self, identity: int, number: int, chunk: bytes) -> None:
        self._connection.fetch("INSERT INTO chunks VALUES ($1, $2, $3)", identity, number, chunk)

    def _remove(self, path: str) -> None:
        kind = EntryKind.FOLDER
        if path != "/":
            kind = self._connection.value(_DELETE, self._repository, path.encode())
        if kind == EntryKind.FOLDER:  # nothing is below other kinds
            self._connection.fetch(_DELETE_BELOW, self._repository, *below(path))
            self._folders = {"/"}

    def _find_below(self, path: str) -> Iterable[tuple[int, str, int]]:
        found = self._connection.fetch(_FIND_BELOW, self._repository, *below(path))
        return ((identity, name.decode(), kind) for identity, name, kind in found)

    def _remove_each(self, identities: Iterable[int]) -> None:
        self._connection.fetch("DELETE FROM entries WHERE id = ANY($1)", list(identities))
