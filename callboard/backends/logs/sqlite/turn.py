"""The turn to write: one ``flock`` per topic, taken before SQLite is touched.

Every commit, checkpoint, trim, open and close of a read-write connection happens in a turn. Writers queue in
the kernel instead of sleeping in SQLite's busy handler, which starves some of them for seconds, and no
checkpoint can overlap a commit (which corrupts the file in SQLite 3.7.0 to 3.51.2).
"""

import fcntl
import os
import weakref
from pathlib import Path

from callboard.backends.local.access import open_shared, writers_mode
from callboard.backends.local.file_locks import QueuedLock, kept_by
from callboard.errors import LogUnavailable


class NoTurn(LogUnavailable):
    """Another process keeps the turn. Nothing was written."""


class Turn:
    """The lock, as a context manager: entering waits for its turn. Use it from one thread at a time.

    The kernel releases it when the process dies. A *stopped* holder blocks everyone: there is no lease. After
    ``WAIT_S`` a waiter gets ``NoTurn``, which names the process. ``take`` waits without limit, for callers that another
    thread watches: having another thread hand over the lock would take longer than a commit.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = open_shared(path, writers_mode(path.parent))  # never unlink this file
        self._lock = QueuedLock(self._fd)
        _open_turns.add(self)

    def __enter__(self) -> None:
        if not self._lock.acquire():
            raise self.late()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def take(self, *, wait: bool) -> bool:
        """Take the lock; False if ``wait`` is not set and the lock is not free."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Release the lock to the next waiter."""
        self._lock.release()

    def late(self) -> NoTurn:
        """The error for a wait that took too long."""
        return NoTurn(f"{kept_by(self._fd, self._path)}. Nothing was written; then try again")

    def close(self) -> None:
        """Close the lock file; idempotent."""
        self._lock.close()

    def leave_to_the_parent(self) -> None:
        """Close the lock file in a forked child."""
        self._lock.leave_to_the_parent()


_open_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def _leave_to_the_parent() -> None:
    for turn in list(_open_turns):
        turn.leave_to_the_parent()


# A forked child shares the lock: if the parent were killed in its turn, the child would keep holding it.
os.register_at_fork(after_in_child=_leave_to_the_parent)
