"""Reads content from the SQLite file of a repository."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import Entry, EntryKind
from callboard.errors import RequestRefused


class SqliteSource:
    """The content of the file as a ``Source``; each call of ``entries`` has its own connection."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """The entry at ``path``; with ``deep`` also everything below it, parents first, names sorted."""
        check_path(path)
        select = "SELECT path, kind, mode, size, target, id FROM entries WHERE path = :path"
        if deep:
            select += " OR (path >= :low AND path < :high)"
        low, high = below(path)
        try:
            with closing(self._connect()) as connection:
                rows = connection.execute(select, {"path": path, "low": low, "high": high}).fetchall()
        except sqlite3.Error as error:
            raise self._unreadable(path, error) from error
        if not rows:
            raise RequestRefused(f"{path} does not exist in {self._path}; correct the path", code="not_found")
        # SQLite would put /a-b before /a/b; parents first requires sorting by name.
        for name, kind, mode, size, target, identity in sorted(rows, key=lambda row: row[0].split("/")):
            content = partial(self._read, name, size, identity)
            yield Entry(name, EntryKind(kind), mode, size=size, target=target, open=content)

    def _read(self, path: str, size: int, identity: int) -> Iterator[bytes]:
        left = size
        select = """SELECT data FROM chunks JOIN entries ON entries.id = chunks.entry
                    WHERE entry = ? AND path = ? ORDER BY number"""
        try:
            with closing(self._connect()) as connection:
                for (data,) in connection.execute(select, (identity, path)):
                    left -= len(data)
                    yield data
        except sqlite3.Error as error:
            raise self._unreadable(path, error) from error
        if left:
            raise RequestRefused(f"{path} changed while it was read; publish it again", code="changed")

    def _connect(self) -> sqlite3.Connection:
        uri = self._path.absolute().as_uri() + "?mode=ro"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    def _unreadable(self, path: str, error: sqlite3.Error) -> RequestRefused:
        return RequestRefused(
            f"{path} cannot be read from {self._path}: {error}; check that it is the file of a repository",
            code="inaccessible",
        )


def below(path: str) -> tuple[str, str]:
    """The half-open range of the paths below ``path``: "0" is the character after "/"."""
    return ("/\x01", "0") if path == "/" else (f"{path}/", f"{path}0")
