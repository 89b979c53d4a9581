"""What is found in a blob's place in a folder, and how it shows without being read that nobody wrote to it.

A file is given the time of its put with a mark in the digits below a millisecond. Whoever writes to the file later
changes its time, and thereby loses the mark. What has no mark is read in full, once: then it is marked, or replaced.
"""

import hashlib
import os
import stat
from enum import Enum, auto
from pathlib import Path

from callboard.backends.blob_store import CHUNK_BYTES

READ_ALWAYS_BYTES = CHUNK_BYTES
"""Up to this size a file is read in full at every put, which also finds what the disk itself has changed."""

_MARK_NS = 10**6
"""The marks are below this: one time in a million is the right one by chance."""


class Stored(Enum):
    """What is in a blob's place."""

    NOTHING = auto()
    GOOD = auto()
    DAMAGED = auto()
    FOREIGN = auto()
    """Good, but of another user, so that its time cannot be set."""


def marked_ns(digest: str, time_ns: int) -> int:
    """The time with the mark of the blob."""
    return time_ns // _MARK_NS * _MARK_NS + int(digest[:12], 16) % _MARK_NS


def is_file(path: Path) -> bool:
    """Whether a file is there; a link, a pipe or a folder in its place is none. Raises ``OSError``."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def examined(path: Path, digest: str, size: int | None) -> Stored:
    """What is there, and durable if it is good. Raises ``OSError``."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return Stored.DAMAGED
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Stored.NOTHING
    except PermissionError:
        return Stored.DAMAGED  # for those who are to read it
    try:
        found = os.fstat(descriptor)
        if size not in (None, found.st_size):
            return Stored.DAMAGED
        marked = found.st_mtime_ns == marked_ns(digest, found.st_mtime_ns)
        if (not marked or found.st_size <= READ_ALWAYS_BYTES) and _digest(descriptor) != digest:
            return Stored.DAMAGED
        os.fsync(descriptor)  # its writer may have died before it did
    finally:
        os.close(descriptor)
    return Stored.GOOD


def _digest(descriptor: int) -> str:
    found = hashlib.sha256()
    while chunk := os.read(descriptor, CHUNK_BYTES):
        found.update(chunk)
    return found.hexdigest()
