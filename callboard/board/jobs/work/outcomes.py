"""How jobs have ended, until that is read back."""

import asyncio
from bisect import bisect_right
from itertools import accumulate, islice

from callboard.board.jobs.work.ending import Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.messages.jobs.job_messages import BATCH_MAX, JobsEndedMessage

RESULTS_BYTES_MAX = 1 << 20
"""Results in one record: every log takes it."""

Ended = tuple[RunningJob, Ending, int]
"""A job, how it ended, and how many milliseconds it ran."""


class Outcomes:
    """The jobs of a worker that have ended, until the worker is told that it no longer has them.

    What is reported is on the log, but an older copy of the log may take its place before it is read back.
    """

    def __init__(self) -> None:
        self._ended: dict[int, Ended] = {}
        self._some = asyncio.Event()
        self._reported: dict[int, Ended] = {}
        self._overdue: dict[int, Ended] = {}

    async def some(self) -> None:
        """Wait until there are some."""
        while not self._ended:
            await self._some.wait()

    def add(self, running: RunningJob, ending: Ending, run_ms: int) -> None:
        """The job has ended."""
        self._ended[running.id] = running, ending, run_ms
        self._some.set()

    def settle(self, job: int) -> None:
        """The worker no longer has the job."""
        for its in (self._ended, self._reported, self._overdue):
            its.pop(job, None)
        if not self._ended:
            self._some.clear()

    def repeat(self) -> None:
        """Report again what was reported before the last call, and is not settled; repeating does no harm."""
        self._ended |= self._overdue
        self._overdue, self._reported = self._reported, {}
        if self._ended:
            self._some.set()

    def take(self, worker: str) -> tuple[tuple[RunningJob, ...], JobsEndedMessage]:
        """The next ones to report, which fit into a record; there must be some."""
        next_ones = list(islice(self._ended.items(), BATCH_MAX))
        sizes = accumulate([len(ending.result) + len(ending.message) for _, (_, ending, _) in next_ones])
        batch = dict(next_ones[: max(1, bisect_right(list(sizes), RESULTS_BYTES_MAX))])
        for job in batch:
            del self._ended[job]
        if not self._ended:
            self._some.clear()
        self._reported |= batch
        running, endings, run_ms = zip(*batch.values(), strict=True)
        ends = filter(None, [ending.at(place) for place, ending in enumerate(endings)])
        return running, JobsEndedMessage(
            worker=worker, jobs=tuple([its.id for its in running]), leases=tuple([its.lease for its in running]),
            outcomes=tuple([int(each.outcome) for each in endings]), run_ms=run_ms, ends=tuple(ends),
        )  # fmt: skip
