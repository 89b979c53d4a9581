"""Locks on files: for how long to wait for one, and who has it."""

import fcntl
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

WAIT_S = 10.0
"""Whoever has such a lock needs it for milliseconds; a disk that is busy may make a second of them."""

POLL_S = 0.01

_LOCKS = Path("/proc/locks")


def lock_holder(status: os.stat_result) -> int:
    """The process that has the file locked, as the kernel tells it; 0 if it does not, as for those of another host."""
    return lock_holders().get((os.major(status.st_dev), os.minor(status.st_dev), status.st_ino), 0)


def lock_holders() -> dict[tuple[int, int, int], int]:
    """Who has which file locked, by device and inode."""
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return {}  # not everywhere may one look
    rows = (line.split() for line in lines if " FLOCK " in line and "->" not in line)
    found = {}
    for row in rows:
        major, minor, inode = row[5].split(":")
        found[int(major, 16), int(minor, 16), int(inode)] = int(row[4])
    return found


def kept_by(descriptor: int, path: Path) -> str:
    """The words for a lock that is not to be had: who has it, and what to do."""
    process = lock_holder(os.fstat(descriptor))
    if process > 0:
        look = f"look at it: ps {process}; continue it (kill -CONT {process}), or end it"
        return f"process {process} keeps {path} locked; {look}"
    return f"a process outside this host or container keeps {path} locked; end it"


def lock_soon(descriptor: int, operation: int) -> bool:
    """Take the lock, looking for it again and again; False if that takes longer than it should."""
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
    """An exclusive lock for which one queues in the kernel, but not for ever. For one thread at a time.

    Only a thread of its own can wait in the kernel and be left there. It goes on waiting when ``acquire`` gives up,
    and the next ``acquire`` joins it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._state = threading.Lock()
        self._waiter: threading.Event | None = None
        self._wanted = self._closed = False

    def acquire(self) -> bool:
        """Whether it was to be had within ``WAIT_S``."""
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
        """Let the next one have it."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptor, now or when nobody waits with it any more; idempotent."""
        with self._state:
            if not self._closed and self._waiter is None:
                os.close(self._descriptor)
            self._closed = True

    def leave_to_the_parent(self) -> None:
        """Close the descriptor in a forked child, in which nobody waits, nor lets go of what another thread had."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def _wait(self, got: threading.Event) -> None:
        with suppress(OSError):  # which the next to try without waiting is told
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._state:
            self._waiter = None
            if self._closed:
                os.close(self._descriptor)
            elif self._wanted:
                got.set()
            else:
                self.release()
