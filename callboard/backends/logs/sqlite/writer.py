"""Appends in groups: one thread per topic commits everything that arrived while it waited for its turn."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from callboard.backends.local import file_locks
from callboard.backends.logs.sqlite.bell import Bell
from callboard.backends.logs.sqlite.failure import UNKNOWN_OUTCOME, explained
from callboard.backends.logs.sqlite.schema import Files, Inodes, check_in_use, lineage, newest_given, open_writable
from callboard.backends.logs.sqlite.turn import Turn

GROUP_BYTES = 4 << 20
"""A group commit takes in no further append beyond this size."""

T = TypeVar("T")


class Work(NamedTuple):
    """Work for a transaction, and the future of its result."""

    do: Callable[[sqlite3.Connection], Any]
    size: int
    future: asyncio.Future[Any]


class Writer:
    """The only user of a topic's read-write connection in this log.

    Opens it with the first work, and again after a failure. Must not be used across a fork.
    """

    def __init__(self, files: Files, bell: Bell, opened: Inodes) -> None:
        self._files, self._bell, self._opened = files, bell, opened
        self._turn = Turn(files.lock)
        self._db: sqlite3.Connection | None = None
        self._lineage = 0
        self._state = threading.Lock()
        self._group: list[Work] = []  # the work that waits for the turn
        self._since: float | None = None  # by the monotonic clock
        self._watcher: threading.Thread | None = None
        self._closing = False
        self._ended = threading.Event()
        self._inbox: SimpleQueue[Work | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"callboard-log-{files.topic}", daemon=True)
        self._thread.start()

    def submit(self, do: Callable[[sqlite3.Connection], T], size: int = 0) -> asyncio.Future[T]:
        """The result of ``do`` once its transaction is on the disk; ``size`` is roughly the bytes it writes.

        Transactions are shared, so ``do`` may fail only for reasons that affect the whole file.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._inbox.put(Work(do, size, future))
        return future

    def close(self) -> None:
        """Complete pending work, then close the file. Blocking; call it once.

        While another process keeps the turn, the file is closed later, by the thread that waits for it.
        """
        self._closing = True
        self._inbox.put(None)
        self._ended.wait()
        if self._watcher is not None:
            self._watcher.join()
        if self._since is None:
            self._thread.join()

    def _run(self) -> None:
        open_ended = True
        while open_ended and (first := self._inbox.get()) is not None:
            self._group = group = [first]
            try:
                with explained(self._files.database, UNKNOWN_OUTCOME), self._queued():
                    open_ended = self._gather(group)
                    if not group:  # given up meanwhile, including the mark of the end
                        open_ended = not self._closing
                        continue
                    results, newest = self._commit(group)
            except Exception as error:  # noqa: BLE001 - every error is passed on to the waiters
                _settle(group, [error] * len(group))
            else:
                _settle(group, results)
                with suppress(OSError):  # the disk may just have filled up; waiters also check without a ring
                    # After the turn and the answers: woken processes take the processor.
                    self._bell.ring(newest, self._lineage)
        self._group = []
        with suppress(OSError), self._queued():
            self._drop()
        self._turn.close()
        self._ended.set()

    @contextmanager
    def _queued(self) -> Iterator[None]:
        """Hold the turn. Until it comes, a watcher may give up the work in the group."""
        if not self._turn.take(wait=False):
            if self._watcher is None:
                name = f"callboard-turn-{self._files.topic}"
                self._watcher = threading.Thread(target=self._watch, name=name, daemon=True)
                self._watcher.start()
            self._since = time.monotonic()
            self._turn.take(wait=True)
            with self._state:
                self._since = None
        try:
            yield
        finally:
            self._turn.release()

    def _watch(self) -> None:
        while not self._ended.wait(file_locks.WAIT_S / 10):
            with self._state:
                if self._since is not None and time.monotonic() - self._since > file_locks.WAIT_S:
                    self._gather(self._group)  # the next would wait as long, and also fail
                    _settle(self._group, [self._turn.late()] * len(self._group))
                    self._group.clear()
                    self._since = time.monotonic()
                    if self._closing:
                        self._ended.set()

    def _gather(self, group: list[Work]) -> bool:
        """Add the work that arrived while waiting for the turn; False if the writer must close after this group."""
        size = sum(work.size for work in group)
        while size < GROUP_BYTES:
            try:
                work = self._inbox.get_nowait()
            except Empty:
                break
            if work is None:
                return False
            group.append(work)
            size += work.size
        return True

    def _commit(self, group: list[Work]) -> tuple[list[Any], int]:
        group[:] = [work for work in group if not work.future.cancelled()]
        try:
            check_in_use(self._files, self._opened)
            if self._db is None:
                self._db = open_writable(self._files, self._bell)
                self._lineage = lineage(self._db)
            self._db.execute("BEGIN IMMEDIATE")
            results = [work.do(self._db) for work in group]
            newest = newest_given(self._db)
            self._db.execute("COMMIT")  # checkpoints every 1000 pages, still in the turn
        except BaseException:
            self._drop()  # rolls back
            raise
        return results, newest

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()


def _settle(group: list[Work], results: list[Any]) -> None:
    """Resolve all futures, with one call into each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for work, result in zip(group, results, strict=True):
        by_loop.setdefault(work.future.get_loop(), []).append((work.future, result))
    for loop, answers in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_answer, answers)


def _answer(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in answers:
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
