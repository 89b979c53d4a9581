"""Wakes the processes that follow a topic: a small file that writers touch after each commit."""

import errno
import os
from pathlib import Path


class Bell:
    """The bell of one topic. A ring is a hint only: it may be lost when a writer dies before it rings.

    The file holds the newest offset, so that it remembers it when an older copy of the topic is put back.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES):
                raise
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # enough for those who only read

    def ring(self, offset: int) -> None:
        """Tell those who watch that ``offset`` was appended."""
        os.pwrite(self._fd, max(offset, self.newest()).to_bytes(8, "little"), 0)

    def newest(self) -> int:
        """The newest offset ever rung, 0 before the first; never above what the topic has given out.

        Two writers who ring out of order may leave it a little behind.
        """
        return int.from_bytes(os.pread(self._fd, 8, 0), "little")

    def close(self) -> None:
        """Close the file; idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
