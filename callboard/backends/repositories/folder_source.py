"""Reads content from a folder on disk."""

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.paths import RESERVED, check_path, child_of, link_leaves_root, parent_of
from callboard.backends.repository import Entry, EntryKind
from callboard.errors import RequestRefused

EXCLUDED = ("__pycache__", "*.pyc", ".git", ".DS_Store", "Thumbs.db")
"""Names that publishers leave out unless told otherwise."""


class FolderSource:
    """A folder as a ``Source``. Links are entries of their own and never followed.

    Args:
        root: the folder; it may itself be reached through a link.
        exclude: names that are treated as not there, as patterns such as ``__pycache__`` or ``*.pyc``.
    """

    def __init__(self, root: Path, exclude: tuple[str, ...] = ()) -> None:
        self._root = root
        self._exclude = exclude

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """The entry at ``path``; with ``deep`` also everything below it, parents first, names sorted.

        Raises ``RequestRefused``, naming the entry and the reason, for what does not exist, cannot be read, has
        a name that is not UTF-8, is neither file, folder nor link, or is a link that leads out of the root.
        """
        check_path(path)
        self._check_parents(path)
        ahead = [path]
        while ahead:
            entry = self._entry(ahead.pop())
            yield entry
            if deep and entry.kind is EntryKind.FOLDER:
                ahead.extend(child_of(entry.path, name) for name in reversed(self._names(entry.path)))

    def _check_parents(self, path: str) -> None:
        if self._entry("/").kind is not EntryKind.FOLDER:
            raise RequestRefused(f"{self._root} is not a folder; give the folder it is in, and its path there")
        if any(self._excluded(name) for name in path.split("/")):
            raise RequestRefused(f"{path} is excluded from this source; choose another path")
        parent = path
        while parent != "/":
            parent = parent_of(parent)
            if self._entry(parent).kind is not EntryKind.FOLDER:
                raise RequestRefused(f"{parent} is no folder, so there is no {path}; links are not followed")

    def _entry(self, path: str) -> Entry:
        file = self._file(path)
        try:
            # Only the root itself may be reached through a link.
            status = file.stat() if path == "/" else file.lstat()
            mode = stat.S_IMODE(status.st_mode) & 0o777
            if stat.S_ISDIR(status.st_mode):
                return Entry(path, EntryKind.FOLDER, mode)
            if stat.S_ISREG(status.st_mode):
                content = partial(_read, file, path, status.st_size)
                return Entry(path, EntryKind.FILE, mode, size=status.st_size, open=content)
            if stat.S_ISLNK(status.st_mode):
                return Entry(path, EntryKind.LINK, 0o777, target=_target(file, path))
        except OSError as error:
            raise _unreadable(file, error) from error
        raise RequestRefused(f"{path} is neither file, folder nor link; move it away or exclude its name")

    def _names(self, path: str) -> list[str]:
        file = self._file(path)
        try:
            names = os.listdir(file)  # noqa: PTH208 - names, not paths
        except OSError as error:
            raise _unreadable(file, error) from error
        if path == "/" and RESERVED in names:
            names.remove(RESERVED)
        names = sorted(name for name in names if not self._excluded(name))
        for name in names:
            check_path(child_of(path, name))
        return names

    def _excluded(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._exclude)

    def _file(self, path: str) -> Path:
        return self._root / path[1:]


def _target(file: Path, path: str) -> str:
    target = os.readlink(file)  # noqa: PTH115 - the text of the link as it is; Path would normalise it
    try:
        target.encode()
    except UnicodeEncodeError:
        raise RequestRefused(f"the target of link {path} is not valid UTF-8; change it") from None
    if link_leaves_root(path, target):
        raise RequestRefused(f"link {path} to {target} could lead out of the root; make it point inside")
    return target


def _read(file: Path, path: str, size: int) -> Iterator[bytes]:
    """The content in chunks, checked to be of the size that was announced."""
    try:
        # Something else may be at the path by now: a link is not followed, a pipe does not block.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(file, error) from error
    left = size
    try:
        while chunk := os.read(descriptor, CHUNK_BYTES):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    except OSError as error:
        raise _unreadable(file, error) from error
    finally:
        os.close(descriptor)
    if left:
        raise RequestRefused(f"{path} changed while it was read; publish it again when it is complete")


def _unreadable(file: Path, error: OSError) -> RequestRefused:
    if isinstance(error, FileNotFoundError):
        return RequestRefused(f"{file} does not exist; correct the source or the path")
    return RequestRefused(f"{file} cannot be read: {error.strerror or error}; make it readable or exclude it")
