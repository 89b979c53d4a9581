"""Wakes the processes that follow a topic, by a small file that writers touch after each commit."""

import errno
import hashlib
import os
import struct
from pathlib import Path

from callboard.backends.local.access import open_shared, shared_mode

OFFSET_MAX = 1 << 53
"""The largest credible offset; one beyond it would soon exceed the integers of SQLite, or of JSON."""

_CONTENT = struct.Struct("<Q16s")


class Bell:
    """The bell of one topic. A ring is only a hint: it may be lost when a writer dies before it rings.

    The file holds the newest offset, so that it still shows it after an older copy of the topic was put back. It is
    trusted only with a seal that requires knowledge of the topic's file; otherwise that file alone decides.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = open_shared(path, shared_mode(path.parent))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES):
                raise
            # Enough for readers.
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def ring(self, offset: int, lineage: int) -> None:
        """Announce that ``offset`` was appended to the file of this lineage."""
        heard = self.heard()
        # Only a higher offset needs a valid seal; checking it each time costs more than everything else here.
        newest = max(offset, remembered(heard, lineage)) if int.from_bytes(heard[:8], "little") > offset else offset
        os.pwrite(self._fd, _CONTENT.pack(newest, _seal(newest, lineage)), 0)

    def heard(self) -> bytes:
        """The current content of the file. Two writers who ring out of order may leave it slightly behind."""
        return os.pread(self._fd, _CONTENT.size, 0)

    def close(self) -> None:
        """Close the file; idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def remembered(heard: bytes, lineage: int | None) -> int:
    """The newest offset that was rung for a file of this lineage; 0 for none.

    ``None`` stands for a file that has assigned no offset: then any value within bounds is accepted.
    """
    if len(heard) < _CONTENT.size:
        return 0
    offset, seal = _CONTENT.unpack(heard)
    if offset > OFFSET_MAX or (lineage is not None and seal != _seal(offset, lineage)):
        return 0
    return int(offset)


def _seal(offset: int, lineage: int) -> bytes:
    return hashlib.sha256(f"bell {lineage} {offset}".encode()).digest()[:16]
