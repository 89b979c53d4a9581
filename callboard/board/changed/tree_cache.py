"""Keeps what was read of the log, and what was hashed on disk, from one process to the next.

Only a shortcut: a file that is damaged, of another version, or of another log, publisher, source or folder counts for
nothing, and then all is read once more. It is private to its user, like the content.
"""

import hashlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callboard.board.changed.published_tree import KnownFolder, PublishedTree
from callboard.board.connect.opening import user_caches
from callboard.version import __version__

FORMAT = 3
"""Incremented with every change of what is kept or of what it means."""

Identity = dict[str, Any]
"""What the tree is of: the log by its id, the publisher, the source, and the folder on disk."""


@dataclass(slots=True)
class Kept:
    """The tree, by the packages below the offset ``next``; -1 if nothing was read yet. ``last`` is the last record
    that was read, by its offset, id and time: if it is not there any more, the log was set back to an older copy.
    """

    tree: PublishedTree
    next: int = -1
    last: tuple[int, str, int] = (-1, "", 0)


@dataclass(frozen=True, slots=True)
class TreeCache:
    """One file. ``identity`` is compared before anything else is believed."""

    file: Path
    identity: Identity = field(repr=False)

    def load(self, fresh: PublishedTree) -> Kept:
        """What is kept, or the ``fresh`` tree. Blocking."""
        try:
            digest, _, rest = _read(self.file).partition(b"\n")
            if hashlib.sha256(rest).hexdigest().encode() != digest:
                return Kept(fresh)
            first, *lines = rest.split(b"\n")
            head = json.loads(first)
            if head["of"] != self._of():
                return Kept(fresh)
            fresh.whole, fresh.doubts, fresh.requests = head["whole"], head["doubts"], head["requests"]
            fresh.offset, fresh.folders = head["offset"], dict(map(KnownFolder.decode, lines))
            offset, record_id, time_ns = head["last"]
            return Kept(fresh, head["next"], (offset, record_id, time_ns))
        except (OSError, ValueError, KeyError, TypeError):
            return Kept(PublishedTree(fresh.root, fresh.publisher, fresh.source))

    def save(self, kept: Kept) -> None:
        """Replace the file. Not synced: a torn one is recognised. Blocking. Raises ``OSError``."""
        tree = kept.tree
        head = {
            "of": self._of(), "next": kept.next, "offset": tree.offset, "whole": tree.whole, "doubts": tree.doubts,
            "requests": tree.requests, "last": kept.last,
        }  # fmt: skip
        lines = [json.dumps(head).encode(), *(each.encode(path) for path, each in tree.folders.items())]
        rest = b"\n".join(lines)
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")  # one for all: what two processes mix up is recognised, too
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
        part.replace(self.file)

    def _of(self) -> Identity:
        return {"format": FORMAT, "version": __version__, **self.identity}


def _read(file: Path) -> bytes:
    """The bytes of a file of this user; others could write what is believed. Raises ``OSError``."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe is not waited for
    with open(descriptor, "rb") as opened:  # noqa: PTH123 - a descriptor, not a path
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(f"{file} is not a file of this user")
        return opened.read()


def cache_file(*names: str) -> Path | None:
    """The file for what these names stand for, in the user's folder for caches; None if the user has no home."""
    if (caches := user_caches()) is None:
        return None
    digest = hashlib.sha256("\0".join(names).encode(errors="backslashreplace"))
    return caches / "trees" / digest.hexdigest()
