"""Which entries a package may have, and in which order: the same rules for writers and readers.

* Every requested path is present itself, as is every folder that leads to one, as a *keep*. ``/`` always
  exists and is never kept.
* Below a deep path any entry is allowed, elsewhere only requested ones. Only a deep path itself may be *gone*.
* No path occurs twice, and a folder comes before the entries in it. So nothing is ever written through a link or a
  file that a subscriber happens to have in place of a folder.
* Every path passes ``check_path``, no link leaves the root, and modes are the nine permission bits.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from callboard.backends.repositories.paths import check_path, link_leaves_root, parent_of
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.errors import RequestRefused

TARGET_BYTES_MAX = 4095
"""The longest target of a link that Linux accepts, in bytes."""

MODE_MAX = 0o777


class Layout:
    """The entries of one package as they arrive, checked against the requested paths.

    Holds every path once, about 200 bytes each: the only memory here that grows with a package.

    Args:
        paths: the requested paths.
        deep_paths: those of them that are shipped as whole trees.

    Raises:
        RequestRefused: no path, an invalid path, or a deep path that is not among the paths.
    """

    def __init__(self, paths: Iterable[str], deep_paths: Iterable[str]) -> None:
        self.roots = tuple(sorted({check_path(path) for path in paths}))
        if not self.roots:
            raise RequestRefused("no paths; name at least one, such as /")
        self.deep = frozenset(deep_paths)
        if strays := sorted(self.deep.difference(self.roots)):
            raise RequestRefused(f"deep path {strays[0]!r} is not among the paths; add it there too")
        self.entries = 0
        self._requested = frozenset(self.roots)
        self._tree_of = {"/": ""}  # every folder so far: the topmost deep path at or above it, or "" for none
        self._members: dict[str, set[str]] = {"": set()}  # every entry so far, by the tree of its parent

    def __contains__(self, path: str) -> bool:
        tree = self._tree_of.get(parent_of(path), "")
        return path in self._members[""] or path in self._members.get(tree, ())

    def admit(self, entry: ManifestEntry) -> None:
        """Accept the next entry. Raises ``RequestRefused`` if it is not allowed here."""
        path = check_path(entry.path)
        if path in self:
            raise RequestRefused(f"path {path!r} is in the package twice; each entry may occur only once", code="unfit")
        parent = parent_of(path)
        if parent not in self._tree_of:
            raise RequestRefused(f"path {path!r} does not follow its folder; write folders first", code="unfit")
        tree = self._tree_of[parent]
        leading = not tree and self._leads(path)
        if entry.form is Form.GONE and (tree or path not in self.deep):
            raise RequestRefused(f"path {path!r} is gone, and no whole tree; leave it out", code="unfit")
        if not (leading if entry.form is Form.KEEP else tree or path in self._requested):
            raise RequestRefused(f"path {path!r} is in the package but was not requested; leave it out", code="unfit")
        _check_attributes(entry)
        if entry.form in (Form.FOLDER, Form.KEEP):
            self._tree_of[path] = tree or (path if path in self.deep else "")
        self._members.setdefault(tree, set()).add(path)
        self.entries += 1

    def _leads(self, path: str) -> bool:
        """Whether it leads to a requested path, but was not requested. A set of all such paths could exhaust memory."""
        at = bisect_left(self.roots, path + "/")
        return path not in self._requested and at < len(self.roots) and self.roots[at].startswith(path + "/")

    def finish(self) -> None:
        """End of the entries. Raises ``RequestRefused`` if a requested path is missing."""
        for path in self.roots:
            if path not in self:
                raise RequestRefused(f"path {path!r} does not exist; correct it or leave it out", code="not_found")

    def trees(self) -> dict[str, frozenset[str]]:
        """For every topmost deep path that is a folder, the paths below it. The layout cannot be used afterwards."""
        tops = [path for path in sorted(self.deep) if self._tree_of.get(path) == path]
        return {path: frozenset(self._members.pop(path, ())) for path in tops}


def leading_folders(path: str) -> Iterator[str]:
    """The folders that lead to a path, topmost first, without ``/``."""
    end = path.find("/", 1)
    while end > 0:
        yield path[:end]
        end = path.find("/", end + 1)


def _check_attributes(entry: ManifestEntry) -> None:
    if entry.mode > MODE_MAX:
        raise RequestRefused(f"path {entry.path!r} has mode {entry.mode:o}; only nine bits are shipped", code="unfit")
    if entry.path == "/" and entry.form is not Form.FOLDER:
        raise RequestRefused("path '/' is not a folder; the root must be one", code="unfit")
    if entry.form is Form.LINK:
        _check_target(entry)
    elif entry.target:
        raise RequestRefused(
            f"path {entry.path!r} has a link's target but is not a link; leave the target out", code="unfit"
        )


def _check_target(entry: ManifestEntry) -> None:
    try:
        size = len(entry.target.encode())
    except UnicodeEncodeError:
        raise RequestRefused(f"link {entry.path!r} has a target that is not UTF-8; correct it", code="unfit") from None
    if not 0 < size <= TARGET_BYTES_MAX or "\0" in entry.target:
        raise RequestRefused(f"link {entry.path!r} has an impossible target of {size} bytes; correct it", code="unfit")
    if link_leaves_root(entry.path, entry.target):
        raise RequestRefused(
            f"link {entry.path!r} to {entry.target!r} may leave the root; make it relative", code="unfit"
        )
