"""The jobs that can be leased, in the order in which they are."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from heapq import heappop, heappush
from itertools import compress

from callboard.actors.jobs.job_table import JobTable
from callboard.messages.jobs.job_messages import JobOptions
from callboard.messages.jobs.job_state import JobState

QUEUED = int(JobState.QUEUED)  # which compares several times as fast

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
        back, new, taken = self._back, self._new, self._taken
        while back and not is_ready(back[0]):
            heappop(back)
        end = len(new)
        while taken < end and not is_ready(new[taken]):
            taken += 1
        if taken > COMPACT_MIN and taken > end // 2:
            del new[:taken]
            taken, end = 0, end - taken
        self._taken = taken
        if taken == end:
            return back[0] if back else -1
        return min(new[taken], back[0]) if back else new[taken]


class Waiting:
    """Queued jobs by priority and topic; apart from them those that wait for a time or for another job of their lane.

    It can be rebuilt from the table, the options and the retries. Jobs that are being leased are taken
    out before the log has their lease, and put back if that fails.
    """

    def __init__(self, table: JobTable, options: Mapping[int, JobOptions]) -> None:
        self._table = table
        self._options = options
        self._lines: defaultdict[int, dict[int, Line]] = defaultdict(dict)
        self._due: list[tuple[int, int]] = []
        self._due_ms: dict[int, int] = {}
        self._taken: set[int] = set()
        self._lanes: defaultdict[str, list[int]] = defaultdict(list)
        self._first: dict[str, int] = {}
        self._vacant: set[str] = set()

    def held(self) -> tuple[dict[int, int], dict[str, int]]:
        """Copies: when jobs are due that are not, and the jobs that others of their lanes wait for."""
        return dict(self._due_ms), dict(self._first)

    def begin(self, due_ms: dict[int, int], first: dict[str, int], flows: Container[int]) -> None:
        """Have all queued jobs of the table wait but those of flows; the other arguments are what ``held`` returned."""
        self._due_ms, self._first = due_ms, first
        self._due = sorted((ms, job) for job, ms in due_ms.items())
        plain = defaultdict[int, "array[int]"](lambda: array("Q"))
        table, special = self._table, due_ms.keys() | self._options.keys()
        queued = [state == QUEUED for state in table.states]
        for job, topic in zip(compress(table.ids, queued), compress(table.topics, queued), strict=True):
            if job not in special:
                plain[topic].append(job)
            elif job not in due_ms and job not in flows:
                self.enter(job)
        for topic, jobs in plain.items():
            self.add(topic, jobs)

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
        elif (lane := self._lane(job)) and self._first.get(lane) != job:
            heappush(self._lanes[lane], job)
            if lane not in self._first:
                self._vacant.add(lane)
        else:
            self._put_back(job)

    def release(self, now_ms: int) -> None:
        """Let the jobs that are due by now be leased, and the next one of each lane whose last one has ended."""
        while (due_ms := self.next_due_ms) is not None and due_ms <= now_ms:
            job = heappop(self._due)[1]
            del self._due_ms[job]
            if self._is_queued(job):
                self.enter(job)
        for lane in self._vacant:
            held = self._lanes[lane]
            while held and lane not in self._first:
                if self._is_queued(job := heappop(held)):
                    self._first[lane] = job
                    self._put_back(job)
            if not held:
                del self._lanes[lane]
        self._vacant.clear()

    def priorities(self) -> list[int]:
        """Priorities that jobs have, the highest first."""
        return sorted(self._lines, reverse=True)

    def heads(self, priority: int, topics: Iterable[int]) -> Iterator[tuple[int, int]]:
        """The first job of each topic that can be leased, and the topic."""
        lines = self._lines[priority]
        for topic in topics:
            if (line := lines.get(topic)) is not None and (job := line.head(self.can_lease)) >= 0:
                yield job, topic

    def can_lease(self, job: int) -> bool:
        """Whether the job can be leased now."""
        if job in self._taken or job in self._due_ms or not self._is_queued(job):
            return False
        return not (lane := self._lane(job)) or self._first.get(lane) == job

    def is_free(self, job: int) -> bool:
        """Whether this head can still be leased: another job of its lane may have been taken since."""
        return job not in self._options or self.can_lease(job)

    def first(self, lane: str) -> int | None:
        """The job of the lane that was leased or is the next to be, and has not ended."""
        job = self._first.get(lane)
        row = self._table.find(job) if job is not None else -1
        return job if row >= 0 and self._table.states[row] <= JobState.ACTIVE else None

    def take(self, job: int, lane: str) -> None:
        """The job is being leased; it is the first of the lane, if that is not empty, until it has ended."""
        self._taken.add(job)
        if lane:
            self._first[lane] = job

    def leased(self, job: int, lane: str) -> None:
        """The job was leased."""
        self._taken.discard(job)
        self._due_ms.pop(job, None)
        if lane:
            self._first[lane] = job
        if own := self._lane(job):
            if (other := self._first.get(own, job)) != job and self._is_queued(other):
                heappush(self._lanes[own], other)  # this reader took it for the next one
            self._first[own] = job

    def trim(self, topics: Set[int]) -> None:
        """Remove leased jobs from the front of the lines of these topics."""
        for lines in self._lines.values():
            for topic in topics & lines.keys():
                lines[topic].head(self._is_queued)

    def ended(self, job: int, lane: str) -> None:
        """The job has ended."""
        self._due_ms.pop(job, None)
        self._taken.discard(job)
        for each in (lane, self._lane(job)):
            if each and self._first.get(each) == job:
                del self._first[each]
                self._vacant.add(each)

    def _is_queued(self, job: int) -> bool:
        row = self._table.find(job)
        return row >= 0 and self._table.states[row] == QUEUED

    def _put_back(self, job: int) -> None:
        topic = self._table.topics[self._table.find(job)]
        self._line(self._priority(job), topic).put_back(job)

    def _line(self, priority: int, topic: int) -> Line:
        return self._lines[priority].setdefault(topic, Line())

    def _lane(self, job: int) -> str:
        return self._options[job].lane if job in self._options else ""

    def _priority(self, job: int) -> int:
        return self._options[job].priority if job in self._options else 0
