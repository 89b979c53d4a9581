"""Reads the job topic: each question continues where the one before ended."""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import replace

from callboard.actors.core.lease import ORIGIN
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.reducer import apply
from callboard.actors.jobs.topics import matched, runs
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.board.jobs.job import Job, decoded
from callboard.errors import OffsetOutOfRange, SchemaTooNew, TopicMissing
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JOB_MESSAGES,
    JobOptions,
    JobsAddedMessage,
    JobsEndedMessage,
    offset_of,
    place_of,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Problem, Unread, read
from callboard.messages.record import Record

NS_PER_MS = 1_000_000

REFUSALS_MAX = 10_000
"""Records with refusals that are remembered: those who appended them ask at once."""


class JobReading:
    """The jobs on one log, as far as they were read."""

    def __init__(self, log: Log, topic: str) -> None:
        self.log, self._topic = log, topic
        self._lock = asyncio.Lock()
        self._log_id = ""
        self._begin()

    def _begin(self) -> None:
        self.jobs = Jobs()
        self.next = -1
        self.time_ns = 0
        self.refusals: dict[int, dict[int, str]] = {}
        """What records did not do, by offset."""

    async def catch_up(self) -> "JobReading":
        """Read on to the end of the topic; a topic that does not exist has no jobs.

        Raises ``SchemaTooNew`` and ``OffsetOutOfRange`` if the jobs cannot be known.
        """
        async with self._lock:
            try:
                log_id = await self.log.identity(self._topic)
                first, end = await self.log.bounds(self._topic)
            except TopicMissing:
                self._begin()
                return self
            if log_id != self._log_id:
                self._log_id = log_id
                self._begin()
            if first > max(ORIGIN, self.next):
                raise OffsetOutOfRange(self._topic, self.next, first, end)
            async for record in between(self.log, self._topic, max(first, self.next), end):
                self._see(record)
                self.next = record.offset + 1  # a reading that is cut off goes on from here
            self.next = end
        return self

    def _see(self, record: Record) -> None:
        message = read(record, JOB_MESSAGES, check_message)
        if isinstance(message, Unread):
            if message.problem is Problem.TOO_NEW:
                raise SchemaTooNew(message.detail)
            return
        self.time_ns = max(self.time_ns, record.time_ns)
        if refused := apply(self.jobs, At(record.offset, record.time_ns // NS_PER_MS), message):
            self.refusals[record.offset] = refused
            if len(self.refusals) > REFUSALS_MAX:
                del self.refusals[next(iter(self.refusals))]

    # Jobs.

    def find(self, states: Collection[JobState], topic: str | None, after: int, *, newest: bool) -> Iterator[int]:
        """The ids of jobs in these states whose topic matches, after this id in the order."""
        table, jobs = self.jobs.table, self.jobs
        wanted = {number for number, name in enumerate(jobs.topics) if topic is None or matched(topic, name)}
        rows = range(len(table.ids) - 1, -1, -1) if newest else range(len(table.ids))
        for row in rows:
            job = table.ids[row]
            beyond = after < 0 or (job < after if newest else job > after)
            if beyond and table.states[row] in states and table.topics[row] in wanted:
                yield job

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
            parked=state is JobState.QUEUED and not self.is_run(jobs.topics[topic]),
            priority=options.priority, lane=options.lane, unique=options.unique, title=options.title,
        )  # fmt: skip

    def is_run(self, topic: str) -> bool:
        """Whether any worker runs the topic."""
        return any(runs(worker.topics, topic) for worker in self.jobs.workers.values() if worker.slots)

    async def details(self, job: int) -> Job | None:
        """The job, with what its records have."""
        found = self.summary(job)
        row = self.jobs.table.find(job)
        if found is None:
            return None
        record, added = await self._record(offset_of(job))
        if isinstance(added, JobsAddedMessage):
            place = place_of(job)
            options = next((each for each in added.options if each.job == place), JobOptions(job=place))
            found = replace(
                found, payload=decoded(added.payloads[place]), creator=added.creator,
                created_ms=record.time_ns // NS_PER_MS, priority=options.priority, lane=options.lane,
                unique=options.unique, title=options.title,
            )  # fmt: skip
        if found.state.is_final:
            _, ended = await self._record(self.jobs.table.ended_at[row])
            if isinstance(ended, JobsEndedMessage):
                for end in ended.ends:
                    if ended.jobs[end.job] == job:
                        found = replace(found, message=end.message, result=decoded(end.result))
        return found

    async def _record(self, offset: int) -> tuple[Record, Event | Unread]:
        [record] = await self.log.read(self._topic, offset, 1)
        return record, read(record, JOB_MESSAGES, check_message)

    async def news(self, timeout_s: float) -> bool:
        """Wait for another record; False after the timeout."""
        return await self.log.wait(self._topic, max(self.next, 0), timeout_s)
