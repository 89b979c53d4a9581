"""Wakes the processes that follow a topic: a small file that writers touch after each commit."""

import errno
import hashlib
import os
import struct
from pathlib import Path

from callboard.backends.local.access import open_shared, shared_mode

OFFSET_MAX = 1 << 53
"""No log gets there; one that began beyond it would come to the end of SQLite's numbers, or of JSON's."""

_CONTENT = struct.Struct("<Q16s")


class Bell:
    """The bell of one topic. A ring is a hint only: it may be lost when a writer dies before it rings.

    The file holds the newest offset, so that it remembers it when an older copy of the topic is put back. It is
    believed only with a seal that takes knowing the topic's file; otherwise that file alone decides.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = open_shared(path, shared_mode(path.parent))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES):
                raise
            # Enough for those who only read.
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def ring(self, offset: int, lineage: int) -> None:
        """Tell those who watch that ``offset`` was appended to the file of this lineage."""
        heard = self.heard()
        # Only what is above needs to be believed; to ask for its seal each time costs more than all the rest.
        newest = max(offset, remembered(heard, lineage)) if int.from_bytes(heard[:8], "little") > offset else offset
        os.pwrite(self._fd, _CONTENT.pack(newest, _seal(newest, lineage)), 0)

    def heard(self) -> bytes:
        """What the file holds now. Two writers who ring out of order may leave it a little behind."""
        return os.pread(self._fd, _CONTENT.size, 0)

    def close(self) -> None:
        """Close the file; idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def remembered(heard: bytes, lineage: int | None) -> int:
    """The newest offset that was rung for a file of this lineage; 0 for none.

    ``None`` is for a file that has given out no offset: then anybody's word is good enough, within bounds.
    """
    if len(heard) < _CONTENT.size:
        return 0
    offset, seal = _CONTENT.unpack(heard)
    if offset > OFFSET_MAX or (lineage is not None and seal != _seal(offset, lineage)):
        return 0
    return int(offset)


def _seal(offset: int, lineage: int) -> bytes:
    return hashlib.sha256(f"bell {lineage} {offset}".encode()).digest()[:16]
