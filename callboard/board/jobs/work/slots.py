"""The slots of a worker, in which its jobs run."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from callboard.board.jobs.functions.handlers import Handlers
from callboard.board.jobs.work.ending import RETURNED, Ending
from callboard.board.jobs.work.processes import JobProcesses
from callboard.board.jobs.work.progress import ProgressReports
from callboard.board.jobs.work.running import run
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.threads import JobThreads
from callboard.errors import NotAnswered
from callboard.messages.jobs.job_mail import LeasedJob

GATHER_S = 0.01
"""How long ends are gathered for a record while jobs wait for a slot: each record costs all who read it."""


class Slots:
    """Runs jobs in their order, ``many`` at a time. A thread that is blocked gives its slot back, unless as many are
    blocked already: then the slot is free when one of them returns.
    """

    def __init__(
        self, many: int, handlers: Handlers, progress: ProgressReports, has: Callable[[RunningJob], bool],
        end: Callable[[RunningJob, Ending, int], None],
    ) -> None:  # fmt: skip
        self.many, self._free, self._handlers, self._progress = many, many, handlers, progress
        self._has, self._end = has, end
        self._context = copy_context()
        """Of the code that made the worker: no job has that of the one before."""
        self.tasks: dict[int, asyncio.Task[None] | None] = {}
        """Of the jobs that have not ended; None until one has begun."""
        self.threads, self.processes = JobThreads(), JobProcesses()
        self._next: deque[tuple[LeasedJob, RunningJob]] = deque()
        """Those that wait for a free slot; some may have been revoked since."""

    def put(self, leased: LeasedJob, running: RunningJob) -> None:
        """Run the job when a slot is free, after ``begin``."""
        self.tasks[leased.job] = None
        self._next.append((leased, running))
        self._progress.leased.set()

    def begin(self) -> None:
        """Run the next ones, as far as there are free slots."""
        while self._next and self._free:
            self._free -= 1
            run = self._run(*self._next.popleft())
            asyncio.create_task(run, context=self._context.copy())  # noqa: RUF006 - it is kept when it begins

    async def pause(self) -> None:
        """While a job waits for a slot, let more of them end."""
        if self._next:
            await asyncio.sleep(GATHER_S)

    def close(self) -> None:
        """Run no more jobs, until others are put."""
        self._next.clear()
        self.threads.close()
        self.threads = JobThreads()

    async def _run(self, leased: LeasedJob, running: RunningJob) -> None:
        ending, run_ms, loop = RETURNED, 0, asyncio.get_running_loop()
        handler = self._handlers.of(leased.topic)
        try:
            if leased.suspect:
                with suppress(NotAnswered):  # the worker has ended
                    await self._progress.tell_begun(running)
            if handler is not None and self._has(running) and not running.is_stopping:
                # only now: one that is cancelled before would not begin
                self.tasks[leased.job] = asyncio.current_task()
                running.begun_s = loop.time()
                ending = await run(handler, leased, running, self.threads, self.processes)
                run_ms = int((loop.time() - running.begun_s) * 1000)
            self._end(running, ending, run_ms)
        finally:
            if running in self.threads.blocked and len(self.threads.blocked) > self.many:
                self.threads.waiting.append(self._freed)
            else:
                self._freed()

    def _freed(self) -> None:
        self._free += 1
        self.begin()
