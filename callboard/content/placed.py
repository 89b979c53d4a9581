"""A source whose content is moved below a prefix."""

from collections.abc import Iterator
from dataclasses import replace

from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import MISSING_FOLDER_MODE, Entry, EntryKind, Source
from callboard.errors import RequestRefused


class PlacedSource:
    """``/a`` in the source is ``/at/a`` here; the folders above ``at`` only lead to it."""

    def __init__(self, source: Source, at: str) -> None:
        self._source, self._at = source, at

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """See ``Source.entries``."""
        if self._at.startswith(path.rstrip("/") + "/") and not deep:
            yield Entry(path, EntryKind.FOLDER, MISSING_FOLDER_MODE)
            return
        if not within(path, self._at):
            raise RequestRefused(f"path {path!r} is not below {self._at}, where this source goes; correct it")
        for entry in self._source.entries(path.removeprefix(self._at) or "/", deep):
            yield replace(entry, path=placed(entry.path, self._at))


def placed(path: str, at: str) -> str:
    """The new path of a source's path. Raises ``RequestRefused`` for an invalid one."""
    check_path(path)
    if check_path(at) == "/":
        return path
    return at if path == "/" else check_path(at + path)


def within(path: str, top: str) -> bool:
    """Whether the path lies at or below ``top``."""
    return top in ("/", path) or path.startswith(f"{top}/")
