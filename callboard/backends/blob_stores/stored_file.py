"""Examines a blob's file in a folder, and detects without reading it whether it was written to.

A put sets the file's time with a mark in the digits below a millisecond. A later write changes the time, and thereby
erases the mark. A file without a mark is read in full, once: then it is marked, or replaced.
"""

import hashlib
import os
import stat
from enum import Enum, auto
from pathlib import Path

from callboard.backends.blob_store import CHUNK_BYTES

READ_ALWAYS_BYTES = CHUNK_BYTES
"""A file up to this size is read in full at every put, which also finds errors of the disk itself."""

_MARK_NS = 10**6
"""Marks are below this value: one time in a million carries the right mark by chance."""


class Stored(Enum):
    """The state of a blob's file."""

    NOTHING = auto()
    GOOD = auto()
    DAMAGED = auto()
    FOREIGN = auto()
    """Good, but owned by another user, so that its time cannot be set."""


def marked_ns(digest: str, time_ns: int) -> int:
    """The time with the blob's mark."""
    return time_ns // _MARK_NS * _MARK_NS + int(digest[:12], 16) % _MARK_NS


def is_file(path: Path) -> bool:
    """Whether a regular file is there, and not a link, a pipe or a folder. Raises ``OSError``."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def examined(path: Path, digest: str, size: int | None) -> Stored:
    """The file's state; a good file is durable on return. Raises ``OSError``."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return Stored.DAMAGED
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Stored.NOTHING
    except PermissionError:
        return Stored.DAMAGED  # to its readers
    try:
        found = os.fstat(descriptor)
        if size not in (None, found.st_size):
            return Stored.DAMAGED
        marked = found.st_mtime_ns == marked_ns(digest, found.st_mtime_ns)
        if (not marked or found.st_size <= READ_ALWAYS_BYTES) and _digest(descriptor) != digest:
            return Stored.DAMAGED
        os.fsync(descriptor)  # its writer may have died before its sync
    finally:
        os.close(descriptor)
    return Stored.GOOD


def _digest(descriptor: int) -> str:
    found = hashlib.sha256()
    while chunk := os.read(descriptor, CHUNK_BYTES):
        found.update(chunk)
    return found.hexdigest()
