"""Paths of content: which ones are valid, and which links stay inside the root."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache

from callboard.backends.address import shown
from callboard.errors import RequestRefused

RESERVED = ".callboard"
"""The top-level name of a repository's own state; content never has it."""

NAME_BYTES_MAX = 255
"""The longest name that every Linux file system accepts."""

PATH_BYTES_MAX = 3072
"""Leaves room for a repository's root below the kernel's limit of 4096 bytes for a whole path."""

CHECKED_PATHS = 1024
"""Valid paths to remember: a package's paths are checked again at every stage, and folders recur often."""


@lru_cache(maxsize=CHECKED_PATHS)
def check_path(path: str) -> str:
    """The path itself if it names content: absolute, normalised, UTF-8, within the bounds above.

    Raises:
        RequestRefused: naming the path and what is wrong with it.
    """
    if path == "/":
        return path
    if not path.startswith("/"):
        raise RequestRefused(f"path {shown(path)!r} is not absolute; write it from the root, such as /blog/a.html")
    if "\0" in path:
        raise RequestRefused(f"path {shown(path)!r} holds a NUL character; remove it")
    names = path[1:].split("/")
    if ".." in names or "." in names or "" in names:
        raise RequestRefused(f"path {shown(path)!r} is not normalised; leave out empty names, '.' and '..'")
    if names[0] == RESERVED:
        raise RequestRefused(f"path {path!r} is reserved for the repository itself; choose another name")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise RequestRefused(f"path {shown(path)!r} is not valid UTF-8; rename it") from None
    if size <= NAME_BYTES_MAX:
        return path
    if size > PATH_BYTES_MAX or any(len(name.encode()) > NAME_BYTES_MAX for name in names):
        raise RequestRefused(
            f"path {shown(path)[:80]!r}... is too long; the limits are {NAME_BYTES_MAX} bytes a name and "
            f"{PATH_BYTES_MAX} bytes in all"
        )
    return path


def link_leaves_root(path: str, target: str) -> bool:
    """Whether a symbolic link at ``path`` with this ``target`` could lead out of the root.

    True for an absolute target, for more leading ``..`` than there are folders above the link, and for a
    ``..`` after a name: the name may be a link itself, so only the file system knows where that leads.
    """
    if target.startswith("/"):
        return True
    names = [name for name in target.split("/") if name not in {"", "."}]
    ups = 0
    while ups < len(names) and names[ups] == "..":
        ups += 1
    return ups > path.count("/") - 1 or ".." in names[ups:]


def parent_of(path: str) -> str:
    """The path of the folder that holds ``path``; the root is its own parent."""
    return path[: path.rfind("/")] or "/"


def with_parents(paths: Iterable[str]) -> set[str]:
    """The paths and every folder that leads to one of them."""
    found: set[str] = set()
    for path in paths:
        at = path
        while at not in found:
            found.add(at)
            at = parent_of(at)
    return found


class Trees:
    """A set of paths, to test whether others lie at, above or below one of them.

    Takes no more memory than the paths themselves, however deep: their ancestors, for one record, can take gigabytes.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._tops = list[str]()  # sorted, each with a slash at its end; none lies below another one
        for path in sorted(map(_as_folder, paths)):
            if not self._tops or not path.startswith(self._tops[-1]):
                self._tops.append(path)

    def touch(self, paths: Iterable[str]) -> bool:
        """Whether any given path lies at, above or below one of these."""
        return any(map(self._touches, map(_as_folder, paths)))

    def _touches(self, path: str) -> bool:
        above, below = bisect_right(self._tops, path) - 1, bisect_left(self._tops, path)
        at_or_below = above >= 0 and path.startswith(self._tops[above])
        return at_or_below or (below < len(self._tops) and self._tops[below].startswith(path))


def _as_folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"


def child_of(folder: str, name: str) -> str:
    """The path of ``name`` in ``folder``."""
    return f"/{name}" if folder == "/" else f"{folder}/{name}"
