"""What changed in a folder between two scans."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from callboard.backends.repositories.descent import Descent
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.backends.repositories.paths import child_of, parent_of
from callboard.errors import RequestRefused


class Look(NamedTuple):
    """What is known of an entry without reading it."""

    kind: int
    mode: int
    size: int
    mtime_ns: int


Tree = Mapping[str, Look]
"""Every entry by its path, the root included."""


class Changes(NamedTuple):
    """What to ship, parents first, and what to delete; entries below a deleted folder are omitted."""

    added: tuple[str, ...]
    deleted: tuple[str, ...]


def look_at(root: Path, patterns: PathPatterns) -> dict[str, Look]:
    """Scan the tree. Links are not followed; what the patterns exclude is omitted. Blocking.

    Raises ``RequestRefused`` if it cannot be read.
    """
    try:
        with Descent(root) as folders:
            return dict(_entries(folders, patterns))
    except NotADirectoryError as error:
        raise RequestRefused(
            f"{error.filename} is not a folder; correct the folder to watch", code="not_found"
        ) from error
    except OSError as error:
        raise RequestRefused(
            f"{error.filename} cannot be read: {error.strerror}; repair it or exclude it", code="inaccessible"
        ) from error


def changes(before: Tree, now: Tree) -> Changes:
    """What turns ``before`` into ``now``.

    A folder's size and time only show that its entries changed, and the entries show that themselves.
    """
    added = sorted(path for path, look in now.items() if path not in before or _differs(before[path], look))
    gone = before.keys() - now.keys()
    return Changes(tuple(added), tuple(sorted(path for path in gone if parent_of(path) not in gone)))


def _differs(before: Look, now: Look) -> bool:
    if before.kind == now.kind == stat.S_IFDIR:
        return before.mode != now.mode
    return before != now


def _entries(tree: Descent, patterns: PathPatterns) -> Iterator[tuple[str, Look]]:
    ahead = ["/"]
    while ahead:
        path = ahead.pop()
        try:
            look = _look(tree.status(path))
            names = tree.names(path) if look.kind == stat.S_IFDIR else []
        except (FileNotFoundError, NotADirectoryError):
            continue  # it may vanish or change during the scan
        if patterns.admits(path):
            yield path, look
        ahead += [child for name in names if patterns.leads(child := child_of(path, name))]


def _look(status: os.stat_result) -> Look:
    return Look(stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_size, status.st_mtime_ns)
