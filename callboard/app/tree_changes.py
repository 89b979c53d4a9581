"""What changed in a folder between two looks at it."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from callboard.backends.paths import RESERVED, child_of, parent_of
from callboard.errors import RequestRefused


class Look(NamedTuple):
    """What can be told of an entry without reading it."""

    kind: int
    mode: int
    size: int
    mtime_ns: int


Tree = Mapping[str, Look]
"""Every entry by its path, the root included."""


class Changes(NamedTuple):
    """What has to be shipped, parents first, and what has to be deleted, without what lies below those."""

    added: tuple[str, ...]
    deleted: tuple[str, ...]


def look_at(root: Path, exclude: tuple[str, ...]) -> dict[str, Look]:
    """The tree as it is. Links are not followed, excluded names not there. Blocking.

    Raises ``RequestRefused`` if it cannot be read.
    """
    try:
        tree = {"/": _look(root.stat())}
        if tree["/"].kind != stat.S_IFDIR:
            raise RequestRefused(f"{root} is not a folder; correct what is to be watched")
        tree.update(_below(root, exclude))
    except OSError as error:
        raise RequestRefused(f"{error.filename} cannot be read: {error.strerror}; repair it or exclude it") from error
    return tree


def changes(before: Tree, now: Tree) -> Changes:
    """What to do for ``before`` to become ``now``.

    A folder's size and time tell only that its entries changed, which is seen at the entries themselves.
    """
    added = sorted(path for path, look in now.items() if path not in before or _differs(before[path], look))
    gone = before.keys() - now.keys()
    return Changes(tuple(added), tuple(sorted(path for path in gone if parent_of(path) not in gone)))


def _differs(before: Look, now: Look) -> bool:
    if before.kind == now.kind == stat.S_IFDIR:
        return before.mode != now.mode
    return before != now


def _below(root: Path, exclude: tuple[str, ...]) -> Iterator[tuple[str, Look]]:
    ahead = ["/"]
    while ahead:
        folder = ahead.pop()
        with os.scandir(root / folder[1:]) as entries:
            for entry in entries:
                path = child_of(folder, entry.name)
                if path == f"/{RESERVED}" or any(fnmatchcase(entry.name, pattern) for pattern in exclude):
                    continue
                with suppress(FileNotFoundError):  # it may vanish while we are looking
                    look = _look(entry.stat(follow_symlinks=False))
                    yield path, look
                    if look.kind == stat.S_IFDIR:
                        ahead.append(path)


def _look(status: os.stat_result) -> Look:
    return Look(stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_size, status.st_mtime_ns)
