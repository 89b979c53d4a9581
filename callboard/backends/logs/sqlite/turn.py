"""Whose turn it is to write: one ``flock`` per topic, taken before SQLite is touched.

Every commit, checkpoint, trim, open and close of a read-write connection happens in a turn. Writers queue in
the kernel instead of sleeping in SQLite's busy handler, which starves some of them for seconds, and no
checkpoint can overlap a commit (which corrupts the file in SQLite 3.7.0 to 3.51.2).
"""

import fcntl
import os
import weakref
from pathlib import Path
from types import TracebackType


class Turn:
    """The lock, as a context manager: entering waits for its turn. For one thread at a time.

    The kernel lets go of it when the process dies. A *stopped* holder blocks everyone: there is no lease.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)  # never unlink this file
        _open_turns.add(self)

    def __enter__(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock file; idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


_open_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def _leave_to_the_parent() -> None:
    for turn in list(_open_turns):
        turn.close()


# A forked child shares the lock: were the parent killed in its turn, the child would hold it on.
os.register_at_fork(after_in_child=_leave_to_the_parent)
