"""The state of all jobs after some record of the job topic, and its transitions."""

from collections import Counter, defaultdict
from typing import NamedTuple

from callboard.actors.jobs.flows import Flows
from callboard.actors.jobs.history import History
from callboard.actors.jobs.job_table import JobTable
from callboard.actors.jobs.keys import UniqueKeys
from callboard.actors.jobs.queues import Queues
from callboard.actors.jobs.rates import Rates
from callboard.actors.jobs.reports import Reports
from callboard.actors.jobs.schedules.schedules import Schedules
from callboard.actors.jobs.tallies import Tallies
from callboard.actors.jobs.topics import runs
from callboard.actors.jobs.waiting import Waiting
from callboard.messages.jobs.job_messages import JobOptions, JobQueue, QueueOrder
from callboard.messages.jobs.job_state import JobState


class Worker(NamedTuple):
    """A worker, as it said of itself."""

    instance: str
    slots: int
    topics: tuple[str, ...]
    member_epoch: int
    host: str = ""
    deny: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def can_run(self, topic: str, queue: JobQueue) -> bool:
        """Whether it runs the topic, which belongs to the queue."""
        return runs(self.topics, topic) and not runs(self.deny, topic) and set(queue.tags) <= set(self.tags)


class Fence(NamedTuple):
    """The present dispatcher: the identity of the control topic, the epoch in which it began, and its incarnation."""

    cluster_log: str = ""
    epoch: int = -1
    dispatcher: str = ""


class At(NamedTuple):
    """The record that is applied: its offset, and its append time in milliseconds since the epoch."""

    offset: int
    ms: int

    @property
    def lease(self) -> int:
        """The number of the leases in this record. The time is in it, as after the topic was replaced by an older copy,
        another record gets the offset.
        """
        return (self.ms % (1 << 43)) << 20 | self.offset % (1 << 20)


class Jobs:
    """What every reader of the job topic knows. The rules in ``rules`` change it, nothing else does."""

    changed: list[tuple[int, JobState]] | None = None
    """The jobs that ended or wait again by the present record, one after another, if anyone asks."""

    def __init__(self) -> None:
        self.table = JobTable()
        self.topics: list[str] = []
        self.numbers: dict[str, int] = {}
        """The place of each topic in ``topics``, which the table has for it."""
        self.options: dict[int, JobOptions] = {}
        """Of jobs that have any and have not ended."""
        self.queues = Queues()
        self.waiting = Waiting(self.table, self.options)
        self.flows = Flows(self.table, self.options)
        self.rates = Rates()
        self.tallies = Tallies()
        self.unique = UniqueKeys()
        self.history = History()
        self.workers: dict[str, Worker] = {}
        """By incarnation."""
        self.leases: dict[int, str] = {}
        """The worker that has leased the job."""
        self.leased_to: defaultdict[str, dict[int, int]] = defaultdict(dict)
        """The jobs of each worker, in the order in which it got them, with the numbers of the leases."""
        self.running: defaultdict[str, Counter[int]] = defaultdict(Counter)
        """How many jobs each worker has leased, by topic."""
        self.stopping: set[int] = set()
        """Leased jobs that are to stop."""
        self.reports = Reports()
        self.suspects: set[int] = set()
        """Jobs that were leased when a worker crashed."""
        self.creators: dict[int, str] = {}
        """The hosts that added jobs, of those which prefer to run there."""
        self.schedules = Schedules()
        self.fence = Fence()
        self.recent: dict[int, int] = {}
        """The offsets and times of the records from the last lease or change of a queue on: leases that were planned
        when the last record was another one are void."""
        self.requests: dict[str, int] = {}
        """The offsets of the latest requests for jobs."""
        self._queue_of: dict[int, JobQueue] = {}

    def queue_of(self, topic: int) -> JobQueue:
        """The queue of the topic with this number."""
        return self._queue_of.get(topic) or self._queue_of.setdefault(topic, self.queues.of(self.topics[topic]))

    def lane_of(self, queue: JobQueue) -> str:
        """The lane that all jobs of the queue share, or an empty text. No job can name it."""
        return f"\0{queue.name}" if queue.order is QueueOrder.ORDERED else ""

    def state_of(self, job: int) -> JobState | None:
        """The job's state; None for an unknown one."""
        row = self.table.find(job)
        return JobState(self.table.states[row]) if row >= 0 else None

    def is_open(self, job: int) -> bool:
        """Whether the job is known and has not ended."""
        state = self.state_of(job)
        return state is not None and not state.is_final

    def lease(self, job: int, row: int, worker: str, at: At) -> None:
        """The worker gets the job, which is queued. Afterwards, trim the waiting jobs of its topic."""
        topic = self.table.topics[row]
        if not (self.table.attempts[row] or self.table.crashes[row]):
            tally, options = self.tallies.topic(topic), self.options.get(job)
            tally.started += 1
            since_ms = max(options.due_ms, self.flows.ended_ms(options)) if options else 0
            tally.waited_ms += max(0, at.ms - max(self.table.since_ms[row], since_ms))
        self.table.change(row, JobState.ACTIVE)
        self.waiting.leased(job, self.lane_of(self.queue_of(topic)))
        self.leases[job] = worker
        self.leased_to[worker][job] = at.lease
        self.running[worker][topic] += 1

    def release(self, job: int, row: int) -> JobQueue:
        """The worker no longer has the job; returns its queue. It is to wait again, or to end."""
        topic, worker = self.table.topics[row], self.leases.pop(job)
        self.running[worker][topic] -= 1
        del self.leased_to[worker][job]
        if not self.leased_to[worker]:
            del self.leased_to[worker], self.running[worker]
        self.reports.released(job)
        return self.queue_of(topic)

    def running_of(self, worker: str) -> Counter[str]:
        """How many jobs the worker has leased, by queue."""
        found = Counter[str]()
        for topic, many in self.running[worker].items() if worker in self.running else ():
            found[self.queue_of(topic).name] += many
        return found

    def requeue(self, job: int, row: int, due_ms: int = 0) -> None:
        """Have a job that was released wait again."""
        self.table.change(row, JobState.QUEUED)
        self.waiting.enter(job, due_ms)
        if self.changed is not None:
            self.changed.append((job, JobState.QUEUED))

    def enter(self, job: int, at: At) -> None:
        """Have a new job with options wait: for others, for its time, or to be leased."""
        if not self.flows.enter(job):
            self.end(job, self.table.find(job), JobState.DROPPED, at)
        elif job not in self.flows:
            self.waiting.enter(job, self.options[job].due_ms)

    def end(self, job: int, row: int, state: JobState, at: At) -> None:
        """The job has ended; those that wait for it may run, or are dropped."""
        self._end(job, row, state, at)
        ended = [job] if self.flows.is_used else []
        for each in ended:
            ready, void = self.flows.ended(each, succeeded=state is JobState.SUCCEEDED and each == job)
            for other in ready:
                self.waiting.enter(other, self.options[other].due_ms)
            for other in void:
                self._end(other, self.table.find(other), JobState.DROPPED, at)
            ended += void

    def _end(self, job: int, row: int, state: JobState, at: At) -> None:
        self.table.change(row, state)
        self.table.ended_at[row], self.table.since_ms[row] = at
        self.tallies.topic(self.table.topics[row]).ended(state)
        self.stopping.discard(job)
        self.suspects.discard(job)
        self.creators.pop(job, None)
        self.reports.saved.pop(job, None)
        queue = self.queue_of(self.table.topics[row])
        self.waiting.ended(job, self.lane_of(queue))
        self.history.add(job, queue.keep_ms if state is JobState.SUCCEEDED else queue.keep_failed_ms)
        if options := self.options.pop(job, None):
            self.unique.ended(options.unique, job, at.ms)
        if self.changed is not None:
            self.changed.append((job, state))

    def ended_ms(self, job: int) -> int | None:
        """When the job ended; None if it is not known any more."""
        row = self.table.find(job)
        return self.table.since_ms[row] if row >= 0 else None

    def ended_at(self, job: int) -> int:
        """The offset of the record that ended the job; -1 if it is not known any more."""
        row = self.table.find(job)
        return self.table.ended_at[row] if row >= 0 else -1

    def reconfigured(self) -> None:
        """Topics may belong to other queues than before."""
        self._queue_of.clear()
