"""Reads content from a folder on disk."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from errno import EACCES
from functools import partial
from pathlib import Path

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.repositories.descent import Descent
from callboard.backends.repositories.path_patterns import PathPatterns, taken
from callboard.backends.repositories.paths import check_path, child_of, link_leaves_root, with_parents
from callboard.backends.repository import Entry, EntryKind
from callboard.errors import RequestRefused

EXCLUDED = ("__pycache__", "*.pyc", ".git", ".DS_Store", "Thumbs.db")
"""Names that publishers exclude by default."""


UNFIT_TOLD = 20
"""The most entries that a refusal lists."""


class FolderSource:
    """A folder as a ``Source``. Links are entries of their own and never followed.

    Args:
        root: the folder; it may itself be reached through a link.
        patterns: the paths to include; others are treated as missing. Folders may merely lead to included ones.
    """

    def __init__(self, root: Path, patterns: PathPatterns = PathPatterns()) -> None:  # noqa: B008 - frozen
        self._root = root
        self._patterns = patterns

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:
        """The entry at ``path``; with ``deep`` also everything below it, parents first, names sorted.

        Raises ``RequestRefused``, naming the entry and the reason, for an entry that does not exist, cannot be read,
        has a name that is not UTF-8, is neither file, folder nor link, or is a link that leaves the root. All such
        entries of a tree are reported together: after the first one, the search continues but yields nothing more.
        """
        check_path(path)
        with closing(_Walk(self._root)) as walk:
            self._check_parents(walk, path)
            ahead, unfit, leading = [path], list[RequestRefused](), dict[str, Entry]()
            while ahead:
                at = ahead.pop()
                wanted = at == path or self._patterns.admits(at)
                try:
                    entry = walk.entry(at)
                    if at == path and entry.kind is not EntryKind.FOLDER and not self._patterns.admits(at):
                        raise _excluded(path)
                    if wanted and not unfit:
                        yield from taken(leading, at)
                        yield entry
                    elif entry.kind is EntryKind.FOLDER:
                        leading[at] = entry
                    if deep and entry.kind is EntryKind.FOLDER:
                        ahead.extend(reversed(self._children(walk, at, unfit)))
                except RequestRefused as error:
                    if wanted:
                        unfit.append(error)
        if unfit:
            raise _together(unfit)

    def _check_parents(self, walk: "_Walk", path: str) -> None:
        if not self._patterns.leads(path):
            raise _excluded(path)
        for parent in sorted(with_parents([path]) - {path}):
            if walk.entry(parent).kind is not EntryKind.FOLDER:
                raise RequestRefused(
                    f"{parent} is no folder, so there is no {path}; links are not followed", code="not_found"
                )

    def _children(self, walk: "_Walk", path: str, unfit: list[RequestRefused]) -> list[str]:
        """The paths in a folder; invalid names are added to ``unfit``."""
        children = []
        for child in (child_of(path, name) for name in sorted(walk.names(path))):
            if self._patterns.leads(child):
                try:
                    children.append(check_path(child))
                except RequestRefused as error:
                    unfit.append(error)
        return children


class _Walk:
    """One call of ``entries`` on the folder. Files can be opened at any time after, in any thread."""

    def __init__(self, root: Path) -> None:
        try:
            self._tree = Descent(root)
        except NotADirectoryError:
            raise RequestRefused(
                f"{root} is not a folder; give the folder it is in, and its path there", code="not_found"
            ) from None
        except OSError as error:
            raise _unreadable(root, error) from error
        self._root = self._tree.status("/")
        self._turn = threading.Lock()
        self._ended = False

    def close(self) -> None:
        """Release the folder; no further entry is needed."""
        with self._turn:
            self._ended = True
            self._tree.close()

    def entry(self, path: str) -> Entry:
        """The current entry at the path."""
        try:
            with self._turn:
                status = self._tree.status(path)
                target = self._tree.target(path) if stat.S_ISLNK(status.st_mode) else ""
                if stat.S_ISREG(status.st_mode) and not self._tree.may_read(path):
                    raise PermissionError(EACCES, os.strerror(EACCES))
        except OSError as error:
            raise self._unreadable(path, error) from error
        mode = stat.S_IMODE(status.st_mode) & 0o777
        if stat.S_ISDIR(status.st_mode):
            return Entry(path, EntryKind.FOLDER, mode)
        if stat.S_ISREG(status.st_mode):
            content = partial(self._read, path, status.st_size)
            return Entry(path, EntryKind.FILE, mode, size=status.st_size, open=content)
        if stat.S_ISLNK(status.st_mode):
            return Entry(path, EntryKind.LINK, 0o777, target=_checked(path, target))
        raise RequestRefused(f"{path} is neither file, folder nor link; move it away or exclude its name", code="unfit")

    def names(self, path: str) -> list[str]:
        """The current names in the folder."""
        try:
            with self._turn:
                return self._tree.names(path)
        except OSError as error:
            raise self._unreadable(path, error) from error

    def _read(self, path: str, size: int) -> Iterator[bytes]:
        """The content in chunks, checked against the announced size; the file may have changed since."""
        try:
            descriptor = self._opened(path)
            try:
                left = size if stat.S_ISREG(os.fstat(descriptor).st_mode) else -1
                while left >= 0 and (chunk := os.read(descriptor, CHUNK_BYTES)):
                    left -= len(chunk)
                    if left >= 0:
                        yield chunk
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unreadable(path, error) from error
        if left:
            raise _changed(path)

    def _opened(self, path: str) -> int:
        with self._turn:
            if not self._ended:
                return self._tree.open_file(path)
        with Descent(self._tree.root) as tree:
            if not os.path.samestat(tree.status("/"), self._root):
                raise _changed(str(tree.root))
            return tree.open_file(path)

    def _unreadable(self, path: str, error: OSError) -> RequestRefused:
        return _unreadable(self._tree.root / path[1:], error)


def _excluded(path: str) -> RequestRefused:
    return RequestRefused(
        f"{path} is not selected by include and exclude of [publisher]; choose another path", code="excluded"
    )


def _together(unfit: list[RequestRefused]) -> RequestRefused:
    """One refusal that lists all invalid entries."""
    if len(unfit) == 1:
        return unfit[0]
    more = [f"and {len(unfit) - UNFIT_TOLD} more"] if len(unfit) > UNFIT_TOLD else []
    return RequestRefused(
        f"{len(unfit)} entries cannot be shipped; correct them, or exclude them by name (exclude in "
        f"[publisher]): {'; '.join((*map(str, unfit[:UNFIT_TOLD]), *more))}",
        code="unfit",
    )


def _checked(path: str, target: str) -> str:
    try:
        target.encode()
    except UnicodeEncodeError:
        raise RequestRefused(f"the target of link {path} is not valid UTF-8; change it", code="unfit") from None
    if link_leaves_root(path, target):
        raise RequestRefused(f"link {path} to {target} could lead out of the root; make it point inside", code="unfit")
    return target


def _changed(what: str) -> RequestRefused:
    return RequestRefused(f"{what} changed while it was read; publish it again when it is complete", code="changed")


def _unreadable(file: Path, error: OSError) -> RequestRefused:
    match error:
        case FileNotFoundError():
            return RequestRefused(f"{file} does not exist; correct the source or the path", code="not_found")
        case NotADirectoryError():
            return RequestRefused(f"{file} is gone: a folder above it changed; publish it again", code="changed")
    return RequestRefused(
        f"{file} cannot be read: {error.strerror or error}; make it readable or exclude it", code="inaccessible"
    )
