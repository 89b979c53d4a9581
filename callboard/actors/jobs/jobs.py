"""The state of all jobs after some record of the job topic, and its transitions."""

from collections import Counter, defaultdict
from typing import NamedTuple

from callboard.actors.jobs.history import History
from callboard.actors.jobs.job_table import JobTable
from callboard.actors.jobs.keys import UniqueKeys
from callboard.actors.jobs.queues import Queues
from callboard.actors.jobs.schedules.schedules import Schedules
from callboard.actors.jobs.waiting import Waiting
from callboard.messages.jobs.job_messages import JobOptions, JobQueue, QueueOrder
from callboard.messages.jobs.job_state import JobState


class Worker(NamedTuple):
    """A worker, as it said of itself."""

    instance: str
    slots: int
    topics: tuple[str, ...]
    member_epoch: int


class Fence(NamedTuple):
    """The present dispatcher: the identity of the control topic, the epoch in which it began, and its incarnation."""

    cluster_log: str = ""
    epoch: int = -1
    dispatcher: str = ""


class At(NamedTuple):
    """The record that is applied: its offset, and its append time in milliseconds since the epoch."""

    offset: int
    ms: int


class Jobs:
    """What every reader of the job topic knows. The rules in this folder change it, nothing else does."""

    def __init__(self) -> None:
        self.table = JobTable()
        self.topics: list[str] = []
        self.numbers: dict[str, int] = {}
        """The place of each topic in ``topics``, which the table has for it."""
        self.options: dict[int, JobOptions] = {}
        """Of jobs that have any and have not ended."""
        self.queues = Queues()
        self.waiting = Waiting(self.table, self.options)
        self.unique = UniqueKeys()
        self.history = History()
        self.workers: dict[str, Worker] = {}
        """By incarnation."""
        self.leases: dict[int, str] = {}
        """The worker that has leased the job."""
        self.leased_to: defaultdict[str, dict[int, int]] = defaultdict(dict)
        """The jobs of each worker, in the order in which it got them, with the offset of the lease."""
        self.running: Counter[tuple[str, str]] = Counter()
        """How many jobs are leased by queue and worker; in all, with an empty worker."""
        self.stopping: set[int] = set()
        """Leased jobs that are to stop."""
        self.schedules = Schedules()
        self.fence = Fence()
        self.leased_at = -1
        """The offset of the last lease."""
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

    def lease(self, job: int, row: int, worker: str, offset: int) -> None:
        """The worker gets the job, which is queued. Afterwards, trim the waiting jobs of its topic."""
        topic = self.table.topics[row]
        queue = self.queue_of(topic)
        self.table.change(row, JobState.ACTIVE)
        self.waiting.leased(job, self.lane_of(queue))
        self.leases[job] = worker
        self.leased_to[worker][job] = offset
        self._count(queue, worker, 1)

    def release(self, job: int, row: int) -> JobQueue:
        """The worker no longer has the job; returns its queue. It is to wait again, or to end."""
        queue, worker = self.queue_of(self.table.topics[row]), self.leases.pop(job)
        del self.leased_to[worker][job]
        if not self.leased_to[worker]:
            del self.leased_to[worker]
        self._count(queue, worker, -1)
        return queue

    def requeue(self, job: int, row: int, due_ms: int = 0) -> None:
        """Have a job that was released wait again."""
        self.table.change(row, JobState.QUEUED)
        self.waiting.enter(job, due_ms)

    def end(self, job: int, row: int, state: JobState, at: At) -> None:
        """The job has ended."""
        self.table.change(row, state)
        self.table.ended_at[row], self.table.since_ms[row] = at
        self.stopping.discard(job)
        queue = self.queue_of(self.table.topics[row])
        self.waiting.ended(job, self.lane_of(queue))
        self.history.add(job, queue.keep_ms if state is JobState.SUCCEEDED else queue.keep_failed_ms)
        if options := self.options.pop(job, None):
            self.unique.ended(options.unique, job, at.ms)

    def ended_ms(self, job: int) -> int | None:
        """When the job ended; None if it is not known any more."""
        row = self.table.find(job)
        return self.table.since_ms[row] if row >= 0 else None

    def reconfigured(self) -> None:
        """Topics may belong to other queues than before."""
        self._queue_of.clear()
        self.running.clear()
        for job, worker in self.leases.items():
            self._count(self.queue_of(self.table.topics[self.table.find(job)]), worker, 1)

    def _count(self, queue: JobQueue, worker: str, more: int) -> None:
        for key in ((queue.name, worker), (queue.name, "")):
            self.running[key] += more
            if not self.running[key]:
                del self.running[key]
