"""Reports which jobs run, and what they say about their progress."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import islice

from callboard.board.jobs.work.running_job import LOCK, RunningJob
from callboard.messages.jobs.job_mail import WorkerReport
from callboard.messages.jobs.job_messages import BATCH_MAX
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage

EVERY_S = 1.0
"""Between two records, and how long a job runs before the log has that it does."""

REPORT_BYTES_MAX = 1 << 20
"""In one record: every log takes it."""


class ProgressReports:
    """Reports on all jobs of a worker together, once a second at most; nothing about jobs that are brief and silent."""

    def __init__(self, say: Callable[[WorkerReport], Awaitable[None]], worker: Callable[[], str]) -> None:
        self._say, self._worker = say, worker
        self._new: dict[RunningJob, None] = {}
        self.leased = asyncio.Event()
        """Set when the worker gets a job, until it has none."""
        self.now_s = time.monotonic

    def note(self, job: RunningJob) -> None:
        """The job has something to report; in any thread."""
        with LOCK:
            self._new[job] = None

    async def follow(self, known: Mapping[int, RunningJob]) -> None:
        """Report on these jobs every second, and on no others."""
        self.now_s = asyncio.get_running_loop().time
        while True:
            await self.leased.wait()
            await asyncio.sleep(EVERY_S)
            latest_s = self.now_s() - EVERY_S
            for job in known.values():
                if 0 < job.begun_s <= latest_s and not job.is_reported:
                    self.note(job)
            with LOCK:
                self._new = {job: None for job in self._new if known.get(job.id) is job}  # others were taken from it
            await self.tell(known.values())
            if not known:
                self.leased.clear()

    async def tell(self, jobs: Iterable[RunningJob]) -> None:
        """Report on those of the jobs that have something to report, until the log has it."""
        if not self._new:
            return
        with LOCK:
            mine = [job for job in jobs if self._new.pop(job, self) is None]
        reports = iter([job.report() for job in mine])
        while batch := tuple(islice(_fitting(reports), BATCH_MAX)):
            await self._say(WorkerReport(progressed=JobsProgressedMessage(worker=self._worker(), progress=batch)))

    async def tell_begun(self, job: RunningJob) -> None:
        """Report that the job runs, and wait until the log has it."""
        self.note(job)
        await self.tell((job,))


def _fitting(reports: Iterator[JobProgress]) -> Iterator[JobProgress]:
    nbytes = 0
    while nbytes < REPORT_BYTES_MAX and (each := next(reports, None)) is not None:
        nbytes += len(each.saved) + sum(map(len, each.lines))
        yield each
