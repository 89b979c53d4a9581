"""The rules of jobs once more, as plainly as they can be written: a dictionary for each job, and searches."""

from dataclasses import dataclass, field
from typing import Any

from callboard.actors.jobs.ending import retry_ms
from callboard.actors.jobs.queues import Queues
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
    holds: frozenset[str] = frozenset()
    """The ordered queues that wait for its end, since it was leased."""


@dataclass
class PlainSchedule:
    content: Event
    once: bool
    suspended: bool
    base_ms: int


@dataclass
class PlainJobs:
    jobs: dict[int, PlainJob] = field(default_factory=dict)
    workers: dict[str, WorkerMessage] = field(default_factory=dict)
    queues: Queues = field(default_factory=Queues)
    fence: tuple[Any, ...] = ("", -1, "")
    keys: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    schedules: dict[str, PlainSchedule] = field(default_factory=dict)
    requests: set[str] = field(default_factory=set)
    leased_at: int = -1
    first: dict[str, int] = field(default_factory=dict)
    """The unfinished job of each lane that the others wait for."""

    def see(self, offset: int, ms: int, message: Event) -> None:
        match message:
            case JobsAddedMessage():
                self.add(offset, ms, message)
            case JobsLeasedMessage():
                self.lease(offset, message)
            case JobsEndedMessage():
                for job, lease, outcome in zip(message.jobs, message.leases, message.outcomes, strict=True):
                    found = self.jobs.get(job)
                    if found and found.worker == message.worker and found.lease == lease:
                        self.end(job, found, ms, Outcome(outcome))
            case WorkerMessage():
                self.workers[message.incarnation] = message
            case WorkerGoneMessage():
                self.gone(message)
            case JobCommandMessage():
                self.command(message)
            case ScheduleMessage():
                self.schedule(ms, message)
            case ScheduleCommandMessage():
                self.schedule_command(ms, message)

    def queue(self, job: PlainJob) -> JobQueue:
        return self.queues.of(job.topic)

    def add(self, offset: int, ms: int, added: JobsAddedMessage) -> None:
        if added.schedule:
            its = self.schedules.get(added.schedule)
            if its is None or its.suspended or added.tick_ms <= its.base_ms:
                return
            its.base_ms = added.tick_ms
            if its.once:
                del self.schedules[added.schedule]
        elif added.request in self.requests:
            return
        else:
            self.requests.add(added.request)
        options = {each.job: each for each in added.options}
        for place, topic in enumerate(added.topic_of):
            job, its = job_id(offset, place), options.get(place, JobOptions(job=place))
            if its.unique:
                owners = self.keys.setdefault(its.unique, [])
                if any(self.is_open(other) or ms < until for other, until in owners):
                    continue
                owners.append((job, ms + its.unique_ms))
            self.jobs[job] = PlainJob(added.topics[topic], its, ms, due_ms=its.due_ms)

    def is_open(self, job: int) -> bool:
        return job in self.jobs and not self.jobs[job].state.is_final

    def lease(self, offset: int, leased: JobsLeasedMessage) -> None:
        claim = leased.cluster_log, leased.epoch, leased.dispatcher
        if claim != self.fence:
            if leased.jobs or (claim[0] == self.fence[0] and claim[1] <= self.fence[1]):
                return
            self.fence = claim
        if leased.jobs and leased.read_to < self.leased_at:
            return
        self.leased_at = offset
        for job, place in zip(leased.jobs, leased.worker_of, strict=True):
            found, worker = self.jobs.get(job), leased.workers[place]
            if found and found.state == JobState.QUEUED and worker in self.workers:
                found.state, found.worker, found.due_ms, found.lease = JobState.ACTIVE, worker, 0, offset
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
            retries = queue.retries if its.options.retries == -2 else its.options.retries
            its.state = JobState.GIVEN_UP if 0 <= retries < its.attempts else JobState.QUEUED
            if its.state == JobState.QUEUED:
                its.due_ms = ms + retry_ms(queue, job, its.attempts)

    def gone(self, gone: WorkerGoneMessage) -> None:
        if gone.cluster_log and (gone.cluster_log, gone.epoch) != self.fence[:2]:
            return
        self.workers.pop(gone.incarnation, None)
        for its in self.jobs.values():
            if its.worker == gone.incarnation:
                its.crashes += bool(gone.cluster_log)
                its.worker, its.state = "", JobState.QUEUED
                if its.stopping:
                    its.state = JobState.STOPPED
                elif its.crashes >= self.queue(its).crashes:
                    its.state = JobState.GIVEN_UP

    def command(self, said: JobCommandMessage) -> None:
        for job in filter(self.is_open, said.stop):
            if self.jobs[job].worker:
                self.jobs[job].stopping = True
            else:
                self.jobs[job].state = JobState.STOPPED
        for job in filter(self.is_open, said.drop):
            self.jobs[job].state, self.jobs[job].worker = JobState.DROPPED, ""
        for job in said.forget:
            if job in self.jobs and not self.is_open(job):
                del self.jobs[job]
        self.queues.suspended.discard(said.resume)
        if said.suspend:
            self.queues.suspended.add(said.suspend)
        if said.configure:
            self.queues.configure(said.configure)
        self.queues.remove(said.remove)

    def schedule(self, ms: int, said: ScheduleMessage) -> None:
        content = replaced(said, author="", suspended=False)
        known = self.schedules.get(said.name)
        if known and known.content == content:
            return
        base_ms = said.at_ms - 1 if said.at_ms else max(ms, known.base_ms if known and not known.once else 0)
        suspended = said.suspended or bool(known and known.suspended)
        self.schedules[said.name] = PlainSchedule(content, bool(said.at_ms), suspended, base_ms)

    def schedule_command(self, ms: int, said: ScheduleCommandMessage) -> None:
        if its := self.schedules.get(said.suspend):
            its.suspended = True
        if (its := self.schedules.get(said.resume)) and its.suspended:
            its.suspended = False
            its.base_ms = its.base_ms if its.once else ms
        self.schedules.pop(said.remove, None)

    # What may be leased.

    def advance(self, now_ms: int) -> None:
        """Find the next job of each lane whose last one has ended: the oldest one that is due."""
        for job, its in sorted(self.jobs.items(), key=lambda each: each[0]):
            lane, waits = its.options.lane, its.state == JobState.QUEUED and its.due_ms <= now_ms
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

    def takers(self, job: int, now_ms: int) -> list[str]:
        """The workers with a free slot that could get the job now."""
        its = self.jobs[job]
        queue = self.queue(its)
        if its.options.lane and self.first.get(its.options.lane) != job:
            return []
        if its.state != JobState.QUEUED or its.due_ms > now_ms or queue.name in self.queues.suspended:
            return []
        if any(self.blocks(other, its) for other in self.jobs.values()):
            return []
        if queue.cluster_parallel and self.running(queue.name) >= queue.cluster_parallel:
            return []
        return [
            name
            for name, worker in self.workers.items()
            if any(matched(pattern, its.topic) for pattern in worker.topics)
            and sum(each.worker == name for each in self.jobs.values()) < worker.slots
            and not (queue.parallel and self.running(queue.name, name) >= queue.parallel)
        ]
