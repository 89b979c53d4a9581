"""The threads in which a worker calls functions that are no coroutines."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from callboard.board.jobs.work.running_job import RunningJob
from callboard.logger import get_logger

Call = Callable[[], Any]


class JobThreads:
    """As many threads as are needed at a time, kept for the next jobs. A thread cannot be ended from outside: one whose
    attempt is over, by a timeout for example, is ``blocked`` until its function returns. They do not keep the process
    from ending.
    """

    def __init__(self) -> None:
        self.blocked: set[RunningJob] = set()
        self.waiting: list[Call] = []
        """To be called one by one when a blocked thread has ended."""
        self._calls: SimpleQueue[tuple[Future[Any], Call] | None] = SimpleQueue()
        self._idle, self._threads, self._lock = 0, 0, threading.Lock()

    async def call(self, function: Call, running: RunningJob) -> Any:
        """Call the function in one of the threads."""
        future: Future[Any] = Future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._work, name=f"job-{self._threads}", daemon=True).start()
        self._calls.put((future, function))
        try:
            return await asyncio.wrap_future(future)
        finally:
            if future.running():
                self._leave(running, future)

    def close(self) -> None:
        """End the threads that are not blocked, and the others when their functions return."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _leave(self, running: RunningJob, future: "Future[Any]") -> None:
        self.blocked.add(running)
        line, loop = get_logger(job=running.id, topic=running.topic), asyncio.get_running_loop()
        line.warning("job.thread_blocked", blocked=len(self.blocked), reason="its attempt has ended")

        def returned() -> None:
            self.blocked.discard(running)
            line.info("job.thread_returned", blocked=len(self.blocked))
            if self.waiting:
                self.waiting.pop()()

        future.add_done_callback(lambda _: None if loop.is_closed() else loop.call_soon_threadsafe(returned))

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            future, function = given
            if not future.set_running_or_notify_cancel():
                end: Call = bool
            else:
                end = _outcome(future, function)
            with self._lock:
                self._idle += 1  # before anybody who waits for the end can need another thread
            end()


def _outcome(future: "Future[Any]", function: Call) -> Call:
    """Call the function; returns what tells the future."""
    try:
        value = function()
    except BaseException as error:  # noqa: BLE001 - raised by the one who waits
        failure = error
        return lambda: future.set_exception(failure)
    return lambda: future.set_result(value)
