"""The rules of jobs once more, as plainly as they can be written: a dictionary for each job, and searches."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from callboard.actors.jobs.jobs import At
from callboard.actors.jobs.queues import Queues
from callboard.actors.jobs.rules.ending import retry_ms
from callboard.actors.jobs.topics import matched
from callboard.messages.event import Event, replaced
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    Outcome,
    QueueOrder,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerGoneMessage,
    WorkerMessage,
    job_id,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage


@dataclass
class PlainJob:
    topic: str
    options: JobOptions
    added_ms: int
    state: JobState = JobState.QUEUED
    due_ms: int = 0
    attempts: int = 0
    crashes: int = 0
    worker: str = ""
    lease: int = -1
    stopping: bool = False
    ended_ms: int = 0
    begun: bool = False
    """The log has that it is running."""
    suspect: bool = False
    saved: bytes = b""
    report: JobProgress | None = None
    lines: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset()
    """The ordered queues that wait for its end, since it was leased."""
    after: tuple[int, ...] = ()


@dataclass
class PlainSchedule:
    content: Event
    once: bool
    suspended: bool
    base_ms: int
    set_at: int


@dataclass
class PlainJobs:
    jobs: dict[int, PlainJob] = field(default_factory=dict)
    workers: dict[str, WorkerMessage] = field(default_factory=dict)
    queues: Queues = field(default_factory=Queues)
    fence: tuple[Any, ...] = ("", -1, "")
    keys: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    schedules: dict[str, PlainSchedule] = field(default_factory=dict)
    tally: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By topic and what is counted."""
    requests: dict[str, int] = field(default_factory=dict)
    starts: list[tuple[str, int]] = field(default_factory=list)
    """The queue of each start, and its time, for queues with a limit."""
    leased_at: int = -1
    times_ms: dict[int, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    """The unfinished job of each lane that the others wait for."""

    def see(self, offset: int, ms: int, message: Event) -> None:
        self.times_ms[offset] = ms
        match message:
            case JobsAddedMessage():
                self.add(offset, ms, message)
            case JobsLeasedMessage():
                self.lease(offset, ms, message)
            case JobsEndedMessage():
                for job, lease, outcome in zip(message.jobs, message.leases, message.outcomes, strict=True):
                    found = self.jobs.get(job)
                    if found and found.worker == message.worker and found.lease == lease:
                        self.end(job, found, ms, Outcome(outcome))
            case JobsProgressedMessage():
                for each in message.progress:
                    its = self.jobs.get(each.job)
                    if its and its.worker == message.worker and its.lease == each.lease:
                        self.report(its, each)
            case WorkerMessage():
                self.workers[message.incarnation] = message
            case WorkerGoneMessage():
                self.gone(message)
            case JobCommandMessage():
                self.command(offset, ms, message)
            case ScheduleMessage():
                self.schedule(offset, ms, message)
            case ScheduleCommandMessage():
                self.schedule_command(offset, ms, message)
        self.settle()
        self.count(ms)

    def count(self, ms: int) -> None:
        """Count the jobs that have ended."""
        for its in self.jobs.values():
            if its.state.is_final and not its.ended_ms:
                its.ended_ms = ms
                self.tally[its.topic, its.state.name.lower()] += 1

    def count_start(self, its: PlainJob, ms: int) -> None:
        """Count the first start of a job, and how long it has waited since it could have been."""
        if its.attempts == its.crashes == 0:
            before = [self.jobs[job].ended_ms for job in its.after if job in self.jobs]
            self.tally[its.topic, "started"] += 1
            self.tally[its.topic, "waited_ms"] += max(0, ms - max([its.added_ms, its.options.due_ms, *before]))

    def settle(self) -> None:
        """Drop the jobs that never can run, and those that wait for them."""
        while void := [its for its in self.jobs.values() if self.is_void(its)]:
            for its in void:
                its.state = JobState.DROPPED

    def is_void(self, its: PlainJob) -> bool:
        """Whether the job waits, although one before it has not succeeded."""
        states = [self.jobs[job].state for job in its.after if job in self.jobs]
        failed = any(state.is_final and state != JobState.SUCCEEDED for state in states)
        return its.state == JobState.QUEUED and failed and not its.options.after_failures

    def waits(self, its: PlainJob) -> bool:
        """Whether the job waits for others."""
        return its.state == JobState.QUEUED and any(map(self.is_open, its.after))

    def queue(self, job: PlainJob) -> JobQueue:
        return self.queues.of(job.topic)

    def add(self, offset: int, ms: int, added: JobsAddedMessage) -> None:
        if added.schedule:
            its = self.schedules.get(added.schedule)
            if its is None or its.suspended or added.schedule_set != its.set_at or added.tick_ms <= its.base_ms:
                return
            its.base_ms = added.tick_ms
            if its.once:
                del self.schedules[added.schedule]
        elif added.request in self.requests or -1 < added.void_from <= offset:
            return
        else:
            self.requests[added.request] = offset
        options = {each.job: each for each in added.options}
        for place, topic in enumerate(added.topic_of):
            job, its = job_id(offset, place), options.get(place, JobOptions(job=place))
            if its.unique:
                owners = self.keys.setdefault(its.unique, [])
                if any(self.is_open(other) or ms < until for other, until in owners):
                    continue
            after = tuple(self.after(offset, its, added.earlier))
            if any(other not in self.jobs or other >= job for other in after):
                continue
            if its.unique:
                owners.append((job, ms + its.unique_ms))
            self.jobs[job] = PlainJob(added.topics[topic], its, ms, due_ms=its.due_ms, after=after)
            if after:
                self.settle()  # its key may be free for the next one

    def after(self, offset: int, its: JobOptions, earlier: tuple[str, ...]) -> Iterator[int]:
        for first, many in zip(its.after, its.after_counts, strict=True):
            at, place = first >> 10, first % 1024
            at = offset if at == -1 else self.requests.get(earlier[-2 - at], -1) if at < 0 else at
            yield from (job_id(at, each) for each in range(place, place + many))

    def is_open(self, job: int) -> bool:
        return job in self.jobs and not self.jobs[job].state.is_final

    def lease(self, offset: int, ms: int, leased: JobsLeasedMessage) -> None:
        claim = leased.cluster_log, leased.epoch, leased.dispatcher
        if claim != self.fence:
            if leased.jobs or (claim[0] == self.fence[0] and claim[1] <= self.fence[1]):
                return
            self.fence = claim
        if leased.jobs and (leased.read_to < self.leased_at or self.times_ms.get(leased.read_to) != leased.read_ms):
            return
        self.leased_at = offset
        for job, place in zip(leased.jobs, leased.worker_of, strict=True):
            found, worker = self.jobs.get(job), leased.workers[place]
            if found and found.state == JobState.QUEUED and worker in self.workers and not self.waits(found):
                if not self.may_start(self.queue(found), ms):
                    continue
                self.start(self.queue(found), ms)
                self.count_start(found, ms)
                found.state, found.worker, found.due_ms, found.lease = JobState.ACTIVE, worker, 0, At(offset, ms).lease
                found.begun = False
                self.hold(job, found)

    def end(self, job: int, its: PlainJob, ms: int, outcome: Outcome) -> None:
        queue = self.queue(its)
        its.worker = ""
        if outcome == Outcome.SUCCEEDED:
            its.state = JobState.SUCCEEDED
        elif its.stopping:
            its.state = JobState.STOPPED
        elif outcome == Outcome.CANCELLED:
            its.state = JobState.ERROR
        elif outcome == Outcome.RETURNED:
            its.state = JobState.QUEUED
        else:
            its.attempts += 1
            self.tally[its.topic, "failed"] += 1
            retries = queue.retries if its.options.retries == -2 else its.options.retries
            its.state = JobState.GIVEN_UP if 0 <= retries < its.attempts else JobState.QUEUED
            if its.state == JobState.QUEUED:
                its.due_ms = ms + retry_ms(queue, job, its.attempts)

    def report(self, its: PlainJob, said: JobProgress) -> None:
        if not its.begun:
            its.report, its.lines = None, ()
        if its.report is None or said.number > its.report.number:
            its.begun, its.report = True, said
            its.lines += said.lines
            its.saved = said.saved or its.saved

    def gone(self, gone: WorkerGoneMessage) -> None:
        if gone.cluster_log and (gone.cluster_log, gone.epoch) != self.fence[:2]:
            return
        self.workers.pop(gone.incarnation, None)
        for its in self.jobs.values():
            if its.worker == gone.incarnation:
                its.crashes += bool(gone.cluster_log) and its.begun
                its.suspect = its.suspect or bool(gone.cluster_log)
                its.worker, its.state = "", JobState.QUEUED
                if its.stopping:
                    its.state = JobState.STOPPED
                elif its.crashes >= self.queue(its).crashes:
                    its.state = JobState.GIVEN_UP

    def command(self, offset: int, ms: int, said: JobCommandMessage) -> None:
        for job in filter(self.is_open, said.stop):
            if self.jobs[job].worker:
                self.jobs[job].stopping = True
            else:
                self.jobs[job].state = JobState.STOPPED
                self.settle()
        for job in filter(self.is_open, said.drop):
            self.jobs[job].state, self.jobs[job].worker = JobState.DROPPED, ""
            self.settle()
        self.count(ms)
        for job in said.forget:
            if job in self.jobs and not self.is_open(job):
                del self.jobs[job]
        self.queues.suspended.discard(said.resume)
        if said.suspend:
            self.queues.suspended.add(said.suspend)
        if said.configure:
            self.queues.configure(said.configure)
        self.queues.remove(said.remove)
        if said.suspend or said.configure or said.remove:
            self.leased_at = offset

    def schedule(self, offset: int, ms: int, said: ScheduleMessage) -> None:
        content = replaced(said, author="", suspended=False)
        known = self.schedules.get(said.name)
        if known and known.content == content:
            return
        base_ms = said.at_ms - 1 if said.at_ms else max(ms, known.base_ms if known and not known.once else 0)
        suspended = said.suspended or bool(known and known.suspended)
        self.schedules[said.name] = PlainSchedule(content, bool(said.at_ms), suspended, base_ms, offset)

    def schedule_command(self, offset: int, ms: int, said: ScheduleCommandMessage) -> None:
        if its := self.schedules.get(said.suspend):
            its.suspended = True
        if (its := self.schedules.get(said.resume)) and its.suspended:
            its.suspended = False
            its.base_ms, its.set_at = its.base_ms if its.once else ms, offset
        self.schedules.pop(said.remove, None)

    # What may be leased.

    def advance(self, now_ms: int) -> None:
        """Find the next job of each lane whose last one has ended: the oldest one that is due."""
        for job, its in sorted(self.jobs.items(), key=lambda each: each[0]):
            lane, waits = its.options.lane, its.state == JobState.QUEUED and its.due_ms <= now_ms
            waits = waits and not self.waits(its)
            if waits and lane and not self.is_open(self.first.get(lane, -1)):
                self.first[lane] = job

    def lanes(self, its: PlainJob) -> frozenset[str]:
        """The ordered queue in which the job waits for the end of another."""
        queue = self.queue(its)
        return frozenset({queue.name}) if queue.order is QueueOrder.ORDERED else frozenset()

    def hold(self, job: int, its: PlainJob) -> None:
        """The job is leased: it takes its lanes."""
        its.holds |= self.lanes(its)
        if its.options.lane:
            self.first[its.options.lane] = job

    def blocks(self, first: PlainJob, other: PlainJob) -> bool:
        """Whether the first keeps the other from being leased."""
        queue = self.queue(other)
        running = queue.order is QueueOrder.ORDERED and bool(first.worker) and self.queue(first).name == queue.name
        held = not first.state.is_final and bool(first.holds & self.lanes(other))
        return first is not other and (held or running)

    def running(self, queue: str, worker: str = "") -> int:
        leased = [each for each in self.jobs.values() if each.worker and worker in ("", each.worker)]
        return sum(self.queue(each).name == queue for each in leased)

    def may_start(self, queue: JobQueue, now_ms: int) -> bool:
        lately = [name for name, ms in self.starts if ms > now_ms - queue.rate_ms and name == queue.name]
        return not queue.rate or len(lately) < queue.rate

    def start(self, queue: JobQueue, ms: int) -> None:
        if queue.rate:
            self.starts.append((queue.name, ms))

    def takers(self, job: int, now_ms: int) -> list[str]:
        """The workers with a free slot that could get the job now."""
        its = self.jobs[job]
        queue = self.queue(its)
        if its.options.lane and self.first.get(its.options.lane) != job:
            return []
        if its.state != JobState.QUEUED or its.due_ms > now_ms or queue.name in self.queues.suspended:
            return []
        if self.waits(its) or not self.may_start(queue, now_ms):
            return []
        if any(self.blocks(other, its) for other in self.jobs.values()):
            return []
        if queue.cluster_parallel and self.running(queue.name) >= queue.cluster_parallel:
            return []
        return [
            name
            for name, worker in self.workers.items()
            if any(matched(pattern, its.topic) for pattern in worker.topics)
            and not any(matched(pattern, its.topic) for pattern in worker.deny)
            and all(tag in worker.tags for tag in queue.tags)
            and sum(each.worker == name for each in self.jobs.values()) < worker.slots
            and not (queue.parallel and self.running(queue.name, name) >= queue.parallel)
        ]
