"""How jobs have ended, until that is reported."""

import asyncio
from bisect import bisect_right
from itertools import accumulate

from callboard.board.jobs.work.ending import Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.messages.jobs.job_messages import BATCH_MAX, JobsEndedMessage

RESULTS_BYTES_MAX = 1 << 20
"""Results in one record: every log takes it."""

Ended = tuple[RunningJob, Ending, int]
"""A job, how it ended, and how many milliseconds it ran."""


class Outcomes:
    """The jobs of a worker that have ended and are not yet reported."""

    def __init__(self) -> None:
        self._ended: list[Ended] = []
        self._some = asyncio.Event()

    async def some(self) -> None:
        """Wait until there are some."""
        await self._some.wait()

    def add(self, running: RunningJob, ending: Ending, run_ms: int) -> None:
        """The job has ended."""
        self._ended.append((running, ending, run_ms))
        self._some.set()

    def take(self, worker: str) -> tuple[tuple[RunningJob, ...], JobsEndedMessage]:
        """The next ones to report, which fit into a record; there must be some."""
        sizes = accumulate([len(ending.result) + len(ending.message) for _, ending, _ in self._ended[:BATCH_MAX]])
        many = max(1, bisect_right(list(sizes), RESULTS_BYTES_MAX))
        batch, self._ended = self._ended[:many], self._ended[many:]
        if not self._ended:
            self._some.clear()
        running, endings, run_ms = zip(*batch, strict=True)
        ends = filter(None, [ending.at(place) for place, ending in enumerate(endings)])
        return running, JobsEndedMessage(
            worker=worker, jobs=tuple([its.id for its in running]), leases=tuple([its.lease for its in running]),
            outcomes=tuple([int(each.outcome) for each in endings]), run_ms=run_ms, ends=tuple(ends),
        )  # fmt: skip
