"""The jobs that can be leased, in the order in which they are."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush

from callboard.actors.jobs.job_table import JobTable
from callboard.messages.jobs.job_messages import JobOptions
from callboard.messages.jobs.job_state import JobState

COMPACT_MIN = 1000
"""Taken entries at the front of a line that are not worth a copy of the rest."""


class Line:
    """Ids of jobs of one topic and priority, the smallest first.

    New jobs have growing ids, so they are appended; those that come back go into a heap. A job that is not ready any
    more is only removed when it comes to the front, so one that came back may be in the line twice.
    """

    def __init__(self) -> None:
        self._new = array("Q")
        self._taken = 0
        self._back: list[int] = []

    def extend(self, jobs: Iterable[int]) -> None:
        """Append new jobs, by growing id."""
        self._new.extend(jobs)

    def put_back(self, job: int) -> None:
        """Put the job in its place."""
        heappush(self._back, job)

    def head(self, is_ready: Callable[[int], bool]) -> int:
        """The first job that is ready, or -1; those before it are removed."""
        while self._back and not is_ready(self._back[0]):
            heappop(self._back)
        new = self._new
        while self._taken < len(new) and not is_ready(new[self._taken]):
            self._taken += 1
        if self._taken > max(COMPACT_MIN, len(new) // 2):
            del new[: self._taken]
            self._taken = 0
        heads = (*new[self._taken : self._taken + 1], *self._back[:1])
        return min(heads, default=-1)


class Waiting:
    """Queued jobs by priority and topic; apart from them those that wait for a time, and those that wait for the job
    that holds their lane.

    Nothing in here is state: it is made of the table, the options and the retries. Jobs that are being leased are taken
    out before the log has their lease, and put back if that fails.
    """

    def __init__(self, table: JobTable, options: Mapping[int, JobOptions]) -> None:
        self._table = table
        self._options = options
        self._lines: defaultdict[int, dict[int, Line]] = defaultdict(dict)
        self._due: list[tuple[int, int]] = []
        self._due_ms: dict[int, int] = {}
        self._taken: set[int] = set()
        self._holders: dict[str, int] = {}
        self._held: defaultdict[str, list[int]] = defaultdict(list)

    @property
    def next_due_ms(self) -> int | None:
        """When the next of the jobs that wait for a time is due."""
        while self._due and self._due_ms.get(self._due[0][1]) != self._due[0][0]:
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def due_ms(self, job: int) -> int:
        """When the job is due; 0 if that is now."""
        return self._due_ms.get(job, 0)

    def add(self, topic: int, jobs: Iterable[int]) -> None:
        """Add new jobs without options, by growing id."""
        self._line(0, topic).extend(jobs)

    def enter(self, job: int, due_ms: int = 0) -> None:
        """Have the job wait, until ``due_ms`` if it is not 0."""
        self._taken.discard(job)
        if due_ms:
            self._due_ms[job] = due_ms
            heappush(self._due, (due_ms, job))
        else:
            self._put_back(job)

    def release(self, now_ms: int) -> None:
        """Let the jobs that are due by now be leased."""
        while (due_ms := self.next_due_ms) is not None and due_ms <= now_ms:
            job = heappop(self._due)[1]
            del self._due_ms[job]
            if self._is_queued(job):
                self._put_back(job)

    def priorities(self) -> list[int]:
        """Priorities that jobs have, the highest first."""
        return sorted(self._lines, reverse=True)

    def heads(self, priority: int, topics: Iterable[int]) -> Iterator[tuple[int, int]]:
        """The first job of each topic that can be leased, and the topic."""
        lines = self._lines[priority]
        for topic in topics:
            if (line := lines.get(topic)) is not None and (job := line.head(self._is_ready)) >= 0:
                yield job, topic

    def holder(self, lane: str) -> int | None:
        """The unfinished job that holds the lane."""
        job = self._holders.get(lane)
        if job is not None and (row := self._table.find(job)) >= 0 and self._table.states[row] <= JobState.ACTIVE:
            return job
        return None

    def take(self, job: int, lane: str) -> None:
        """The job is being leased; it holds its own lane, and this one if it is not empty."""
        self._taken.add(job)
        for each in {lane, self._lane(job)} - {""}:
            self._holders[each] = job

    def leased(self, job: int, topic: int, lane: str) -> None:
        """The job was leased."""
        self.take(job, lane)
        self._taken.discard(job)
        self._due_ms.pop(job, None)
        self._line(self._priority(job), topic).head(self._is_queued)

    def ended(self, job: int) -> None:
        """The job has ended: the next one of its lane can be leased."""
        self._due_ms.pop(job, None)
        self._taken.discard(job)
        lane = self._lane(job)
        if lane and self._holders.get(lane) == job:
            del self._holders[lane]
            held = self._held[lane]
            while held:
                if self._is_queued(following := heappop(held)):
                    self._put_back(following)
                    return
            del self._held[lane]

    def is_ready(self, job: int) -> bool:
        """Whether the job can be leased, by its own lane."""
        return self._is_queued(job) and job not in self._due_ms and job not in self._taken

    def _is_ready(self, job: int) -> bool:
        if not self.is_ready(job):
            return False
        lane = self._lane(job)
        if lane and self.holder(lane) not in (None, job):
            heappush(self._held[lane], job)
            return False
        return True

    def _is_queued(self, job: int) -> bool:
        row = self._table.find(job)
        return row >= 0 and self._table.states[row] == JobState.QUEUED

    def _put_back(self, job: int) -> None:
        topic = self._table.topics[self._table.find(job)]
        self._line(self._priority(job), topic).put_back(job)

    def _line(self, priority: int, topic: int) -> Line:
        return self._lines[priority].setdefault(topic, Line())

    def _lane(self, job: int) -> str:
        options = self._options.get(job)
        return options.lane if options else ""

    def _priority(self, job: int) -> int:
        options = self._options.get(job)
        return options.priority if options else 0
