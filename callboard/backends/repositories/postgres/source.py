"""Reads content from the tables of a PostgreSQL repository."""

import weakref
from collections.abc import Iterator
from functools import partial

from callboard.backends.echo import quoted
from callboard.backends.postgres.blocking import BlockingConnection
from callboard.backends.postgres.server import Server
from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import Entry, EntryKind
from callboard.errors import CallboardError, RequestRefused

# $1 is the repository. The paths below a folder are those from $2 to $3; the prefix is what the index covers.
AT_PATH = "repository = $1 AND sha256(path) = sha256($2)"
BELOW_PATH = """repository = $1 AND path >= $2 AND path < $3 AND substring(path FROM 1 FOR 1000)
    BETWEEN substring($2::bytea FROM 1 FOR 1000) AND substring($3::bytea FROM 1 FOR 1000)"""

_SELECT = "SELECT path, kind, mode, size, target, id FROM entries WHERE "
_CHUNK = "SELECT data FROM chunks WHERE entry = $1 AND number = $2"


class PostgresSource:
    """The content of a repository as a ``Source``.

    Each call of ``entries`` has its own connection, which is closed when its last entry is garbage-collected: until
    then, their content can be read.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """The entry at ``path``; with ``deep`` also everything below it, parents first, names sorted."""
        check_path(path)
        try:
            reading = _Reading(self._server)
            rows = reading.rows(path, deep)
        except CallboardError as error:
            raise RequestRefused(f"{path} cannot be read: {error}", code="inaccessible") from error
        if not rows:
            raise RequestRefused(
                f"{path} does not exist in {self._server.name}, repository {quoted(self._server.repository)}; correct "
                "the path",
                code="not_found",
            )
        for name, kind, mode, size, target, identity in rows:
            content = partial(reading.content, name, size, identity)
            yield Entry(name, EntryKind(kind), mode, size=size, target=target, open=content)


class _Reading:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = BlockingConnection(server)
        weakref.finalize(self, self._connection.close)

    def rows(self, path: str, deep: bool) -> list[tuple[str, int, int, int, str, int]]:
        """Path, kind, mode, size, target and number of each entry, in the order of the contract."""
        number = self._connection.value("SELECT id FROM repositories WHERE name = $1", self._server.repository)
        found = self._connection.fetch(_SELECT + AT_PATH, number, path.encode())
        if found and deep:
            found += self._connection.fetch(_SELECT + BELOW_PATH, number, *below(path))
        # Sorting bytes would put /a-b before /a/b; parents first requires sorting by name.
        rows = [(name.decode(), *rest, target.decode(), identity) for name, *rest, target, identity in found]
        return sorted(rows, key=lambda row: row[0].split("/"))

    def content(self, path: str, size: int, identity: int) -> Iterator[bytes]:
        """The content of a file, chunk by chunk."""
        number, left = 0, size
        while left:
            try:
                data = self._connection.value(_CHUNK, identity, number)
            except CallboardError as error:
                raise RequestRefused(f"{path} cannot be read: {error}", code="inaccessible") from error
            if data is None:
                raise RequestRefused(f"{path} changed while it was read; publish it again", code="changed")
            number, left = number + 1, left - len(data)
            yield data


def below(path: str) -> tuple[bytes, bytes]:
    """The half-open range of the paths below ``path``: "0" is the character after "/"."""
    return (b"/\x01", b"0") if path == "/" else (f"{path}/".encode(), f"{path}0".encode())
