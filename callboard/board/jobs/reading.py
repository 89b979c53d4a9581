"""Reads the job topic: each question continues where the one before ended."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from heapq import merge
from itertools import islice

from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.lease import ORIGIN
from callboard.actors.jobs.flows import placed
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.snapshots.search import SnapshotSearch
from callboard.actors.jobs.topics import matched
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.board.jobs.job import Job, decoded, progress_of
from callboard.board.jobs.new_job import NewJob
from callboard.errors import OffsetOutOfRange, RequestRefused, TopicMissing
from callboard.logger import get_logger
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JOB_MESSAGES,
    JobContext,
    JobOptions,
    JobsAddedMessage,
    JobsEndedMessage,
    offset_of,
    place_of,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from callboard.messages.jobs.ranges import jobs_in
from callboard.messages.reading import Unread, read, understood
from callboard.messages.record import Record

NS_PER_MS = 1_000_000

REFUSALS_MAX = 10_000
"""Records with refusals that are remembered: those who appended them ask at once."""

RECORDS_KEPT = 4
"""Those that added and ended the jobs asked for last: the next ones are likely to be in the same, of 1 MB at most."""

Added = tuple[Record, JobsAddedMessage]
"""A record that added jobs, and what it says."""


class JobReading:
    """The jobs on one log, as far as they were read."""

    def __init__(self, log: Log, topic: str) -> None:
        self.log, self._topic = log, topic
        self._lock = asyncio.Lock()
        self._log_id = ""
        self._begin()

    def _begin(self) -> None:
        self.jobs = Jobs()
        self._records: dict[int, tuple[Record, Event | Unread]] = {}
        self.next, self.time_ns = -1, 0
        self.refusals: dict[int, dict[int, str]] = {}
        """What records did not do, by offset."""

    async def catch_up(self) -> "JobReading":
        """Read on to the end of the topic; a topic that does not exist has no jobs.

        Raises ``SchemaTooNew`` and ``OffsetOutOfRange`` if the jobs cannot be known.
        """
        async with self._lock:
            while not await self._read_on():
                self._begin()
        return self

    async def _read_on(self) -> bool:
        """Whether everything was read; not if records were trimmed meanwhile."""
        try:
            log_id = await self.log.identity(self._topic)
            first, end = await self.log.bounds(self._topic)
        except TopicMissing:
            self._begin()
            return True
        if log_id != self._log_id or end < self.next:
            self._log_id = log_id
            self._begin()
        if self.next < first:
            await self._load(TopicBounds(log_id, first, end))
        lost: list[tuple[int, int]] = []
        async for record in between(self.log, self._topic, self.next, end, lost):
            if lost:
                return False
            self._see(record)
            self.next = record.offset + 1  # a reading that is cut off goes on from here
        self.next = end
        return not lost

    async def _load(self, bounds: TopicBounds) -> None:
        """Begin with a snapshot, or with the first record that there ever was."""
        self._begin()
        search, first = SnapshotSearch(), bounds.first
        start = search.place(bounds)
        while not search.is_needless:
            async for record in between(self.log, self._topic, start, bounds.end):
                if (found := search.see(record)) is not None:
                    self.jobs, self.next, self.time_ns = found.jobs, found.as_of + 1, record.time_ns
                    return
            for why in search.told():
                get_logger().warning("snapshot.skipped", topic=self._topic, reason=why)
            if not search.widen():
                break
            start = search.place(bounds)
        if first > ORIGIN:
            raise OffsetOutOfRange(self._topic, ORIGIN, first, bounds.end)
        self.next = first

    def _see(self, record: Record) -> None:
        if (message := understood(record, JOB_MESSAGES, check_message)) is None:
            return
        self.time_ns = max(self.time_ns, record.time_ns)
        if refused := apply(self.jobs, At(record.offset, record.time_ns // NS_PER_MS), message):
            self.refusals[record.offset] = refused
            if len(self.refusals) > REFUSALS_MAX:
                del self.refusals[next(iter(self.refusals))]

    # Jobs.

    def find(
        self,
        states: Collection[JobState],
        topic: str | None,
        queue: str | None,
        after: int,
        *,
        newest: bool,
        by_end: bool,
        most: int,
    ) -> list[int]:
        """The first ids of jobs in these states with a matching topic, of a queue or of all, after this one."""
        table, jobs = self.jobs.table, self.jobs
        wanted = {
            number
            for number, name in enumerate(jobs.topics)
            if (topic is None or matched(topic, name)) and queue in (None, jobs.queue_of(number).name)
        }
        if by_end:
            return self._by_end(states, wanted, after, most, newest=newest)
        rows = table.having(states, after, newest=newest)
        return [table.ids[row] for row in islice((row for row in rows if table.topics[row] in wanted), most)]

    def _by_end(
        self, states: Collection[JobState], topics: Collection[int], after: int, most: int, *, newest: bool
    ) -> list[int]:
        table, begin = self.jobs.table, self.jobs.table.find(after)
        if after >= 0 and begin < 0:
            raise RequestRefused(
                f"job {after} is forgotten, with which the page before ended; begin with the first page"
            )
        last = (table.ended_at[begin] if after >= 0 else -1), after
        ends = self.jobs.history.by_end(self.jobs.ended_at, last[0], newest=newest)
        if unended := [state for state in states if not state.is_final]:
            ends = merge(ends, ((0, table.ids[row]) for row in table.having(unended, newest=newest)), reverse=newest)
        if after >= 0:
            ends = (each for each in ends if (each < last if newest else each > last))
        rows = ((job, table.find(job)) for _, job in ends)
        found = (job for job, row in rows if table.states[row] in states and table.topics[row] in topics)
        return list(islice(found, most))

    def summary(self, job: int) -> Job | None:
        """The job, without what only its records have; None for an unknown one."""
        jobs, row = self.jobs, self.jobs.table.find(job)
        if row < 0:
            return None
        table, topic = jobs.table, jobs.table.topics[row]
        state, options = JobState(table.states[row]), jobs.options.get(job, JobOptions(job=0))
        worker = jobs.workers.get(jobs.leases.get(job, ""))
        return Job(
            id=job, topic=jobs.topics[topic], queue=jobs.queue_of(topic).name, state=state,
            created_ms=0 if state.is_final else table.since_ms[row],
            ended_ms=table.since_ms[row] if state.is_final else 0,
            due_ms=jobs.waiting.due_ms(job), attempts=table.attempts[row], crashes=table.crashes[row],
            worker=worker.instance if worker else "", stopping=job in jobs.stopping,
            parked=state is JobState.QUEUED and not self.is_run(topic),
            priority=options.priority, lane=options.lane, unique=options.unique, title=options.title,
            waits_for=jobs.flows.waits_for(job),
            progress=progress_of(jobs.reports.of(job)),
        )  # fmt: skip

    def by_queue(self) -> dict[str, list[int]]:
        """The numbers of the topics of each queue."""
        found: dict[str, list[int]] = {}
        for number in range(len(self.jobs.topics)):
            found.setdefault(self.jobs.queue_of(number).name, []).append(number)
        return found

    def parked(self, topics: Iterable[int]) -> Counter[int]:
        """How many jobs of these topics wait for a worker that runs them, by topic."""
        counts = self.jobs.table.counts
        waiting = {number: counts[number, JobState.QUEUED] for number in topics}
        return Counter({number: many for number, many in waiting.items() if many and not self.is_run(number)})

    def is_run(self, topic: int) -> bool:
        """Whether any worker runs the topic with this number."""
        name, queue = self.jobs.topics[topic], self.jobs.queue_of(topic)
        return any(worker.can_run(name, queue) for worker in self.jobs.workers.values() if worker.slots)

    async def details(self, job: int) -> Job | None:
        """The job, with what its records have."""
        found = self.summary(job)
        row = self.jobs.table.find(job)
        if found is None:
            return None
        offset = self.jobs.table.ended_at[row]
        found = self.filled(found, *await self.added(offset_of(job)))
        if found.state.is_final or (found.attempts and offset):
            _, ended = await self._record(offset)
            if isinstance(ended, JobsEndedMessage):
                for end in ended.ends:
                    if ended.jobs[end.job] == job:
                        found = replace(found, message=end.message)
                        found = replace(found, result=decoded(end.result)) if found.state.is_final else found
            if found.state is JobState.DROPPED and found.after:
                found = replace(found, message=self._why_dropped(found, offset))
        return found

    def _why_dropped(self, dropped: Job, ended_at: int) -> str:
        """Which of the jobs that it waited for has not succeeded."""
        table = self.jobs.table
        for job in dropped.after:
            row = table.find(job)
            if row >= 0 and table.ended_at[row] <= ended_at and table.states[row] > JobState.SUCCEEDED:
                return f"job {job}, for which it waited, has not succeeded: {JobState(table.states[row]).name.lower()}"
        return ""

    def filled(self, found: Job, record: Record, added: JobsAddedMessage) -> Job:
        """The job, with what the record has that added it."""
        place = place_of(found.id)
        options = _options(added, place)
        options = placed(options, record.offset, added.earlier, self.jobs.requests)
        after = tuple(each for each in jobs_in(options.after, options.after_counts) if each >= 0)
        return replace(
            found, payload=decoded(added.payloads[place]), creator=added.creator,
            created_ms=record.time_ns // NS_PER_MS, priority=options.priority, lane=options.lane,
            unique=options.unique, title=options.title, after=after, schedule=added.schedule,
        )  # fmt: skip

    async def again(self, job: int) -> NewJob:
        """A job like this one."""
        _, added = await self.added(offset_of(job))
        place = place_of(job)
        context = added.contexts[added.context_of[place]] if added.contexts else JobContext()
        again = NewJob.of(added.topics[added.topic_of[place]], added.payloads[place], _options(added, place))
        return replace(again, context=dict(zip(context.names, context.values, strict=True)))

    async def added(self, offset: int) -> Added:
        """The record at this offset, which added jobs, and what it says."""
        record, message = await self._record(offset)
        assert isinstance(message, JobsAddedMessage)
        return record, message

    async def _record(self, offset: int) -> tuple[Record, Event | Unread]:
        if (found := self._records.get(offset)) is None:
            [record] = await self.log.read(self._topic, offset, 1)
            if len(self._records) == RECORDS_KEPT:
                del self._records[next(iter(self._records))]
            found = self._records[offset] = record, read(record, JOB_MESSAGES, check_message)
        return found

    async def news(self, timeout_s: float) -> bool:
        """Wait for another record; False after the timeout."""
        return await self.log.wait(self._topic, max(self.next, 0), timeout_s)


def _options(added: JobsAddedMessage, place: int) -> JobOptions:
    return next((each for each in added.options if each.job == place), JobOptions(job=place))
