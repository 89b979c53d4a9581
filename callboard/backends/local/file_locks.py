"""Locks on files: how long to wait for one, and which process holds it."""

import fcntl
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

WAIT_S = 10.0
"""These locks are held for milliseconds, or perhaps a second on a busy disk."""

POLL_S = 0.01

_LOCKS = Path("/proc/locks")


def lock_holder(status: os.stat_result) -> int:
    """The process that holds the file's lock, by the kernel's list; 0 if not on it, as for one of another host."""
    return lock_holders().get((os.major(status.st_dev), os.minor(status.st_dev), status.st_ino), 0)


def lock_holders() -> dict[tuple[int, int, int], int]:
    """The processes that hold file locks, by device and inode."""
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return {}  # not readable everywhere
    rows = (line.split() for line in lines if " FLOCK " in line and "->" not in line)
    found = {}
    for row in rows:
        major, minor, inode = row[5].split(":")
        found[int(major, 16), int(minor, 16), int(inode)] = int(row[4])
    return found


def kept_by(descriptor: int, path: Path) -> str:
    """The message for a lock that is not available: which process holds it, and what to do."""
    process = lock_holder(os.fstat(descriptor))
    if process > 0:
        look = f"inspect it (ps {process}), continue it (kill -CONT {process}), or end it"
        return f"process {process} keeps {path} locked; {look}"
    return f"a process outside this host or container keeps {path} locked; end it"


def lock_soon(descriptor: int, operation: int) -> bool:
    """Take the lock, trying again for a while; False if that takes too long."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        else:
            return True


class QueuedLock:
    """An exclusive lock that is queued for in the kernel, with a timeout. Use it from one thread at a time.

    A separate thread waits in the kernel. It continues to wait when ``acquire`` gives up, and the next ``acquire``
    joins it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._state = threading.Lock()
        self._waiter: threading.Event | None = None
        self._wanted = self._closed = False

    def acquire(self) -> bool:
        """Whether the lock was acquired within ``WAIT_S``."""
        with self._state:
            if self._waiter is None:
                try:
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._waiter = threading.Event()
                    waiting = threading.Thread(target=self._wait, args=(self._waiter,), name="callboard-lock")
                    waiting.daemon = True
                    waiting.start()
                else:
                    return True
            self._wanted, got = True, self._waiter
        if got.wait(WAIT_S):
            return True
        with self._state:
            self._wanted = False
            return got.is_set()

    def release(self) -> None:
        """Release the lock to the next waiter."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptor, now or when no thread waits with it any more; idempotent."""
        with self._state:
            if not self._closed and self._waiter is None:
                os.close(self._descriptor)
            self._closed = True

    def leave_to_the_parent(self) -> None:
        """Close the descriptor in a forked child, which has none of the threads that wait for the lock or hold it."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def _wait(self, got: threading.Event) -> None:
        with suppress(OSError):  # the next attempt without waiting raises it
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._state:
            self._waiter = None
            if self._closed:
                os.close(self._descriptor)
            elif self._wanted:
                got.set()
            else:
                self.release()
