"""Which jobs the dispatcher leases next, and to whom."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heapreplace
from itertools import islice

from callboard.actors.jobs.jobs import Jobs, Worker
from callboard.actors.jobs.topics import runs
from callboard.messages.jobs.job_messages import BATCH_MAX, JobQueue, JobsEndedMessage, Outcome, QueueOrder
from callboard.messages.jobs.job_state import JobState

TURN = 50
"""Jobs of one queue that are planned before those of the next."""

AHEAD_MS = 50.0
"""A worker is given more jobs than it has slots if all will have started after this time: enough for the next lease to
arrive, and little to wait for if the jobs take longer than they used to."""

MEAN_WEIGHT = 0.1
"""Of the latest running time in the mean of a topic."""

UNKNOWN_MS = 1000.0
"""How long the first job of a topic is taken to run."""


class Planner:
    """Plans leases on a jobs. It remembers how long jobs take, and which topics had their turn."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._mean_ms: dict[int, float] = {}
        self._served: dict[int, int] = {}
        self._turn = 0

    def learn(self, ended: JobsEndedMessage) -> None:
        """Take in how long jobs ran; call it before it is applied to them the message."""
        table = self._jobs.table
        for job, outcome, run_ms in zip(ended.jobs, ended.outcomes, ended.run_ms, strict=True):
            if outcome != Outcome.RETURNED and (row := table.find(job)) >= 0:
                topic = table.topics[row]
                mean_ms = self._mean_ms.get(topic, run_ms)
                self._mean_ms[topic] = mean_ms + MEAN_WEIGHT * (run_ms - mean_ms)

    def plan(self, now_ms: int) -> list[tuple[int, str]]:
        """The next jobs and the workers that run them, ``BATCH_MAX`` at most; they are taken out of ``jobs.waiting``.

        The leases planned before must have been applied, or their jobs put back.
        """
        jobs = self._jobs
        jobs.waiting.release(now_ms)
        desks = [_Desk(jobs, name, worker, self._mean_ms) for name, worker in jobs.workers.items() if worker.slots]
        turns = deque(self._picks(queue, topics, desks) for queue, topics in self._queues())
        planned: list[tuple[int, str]] = []
        while turns and (room := BATCH_MAX - len(planned)) > 0:
            picks = turns.popleft()
            found = list(islice(picks, min(TURN, room)))
            planned += found
            if len(found) == TURN:
                turns.append(picks)
        return planned

    def _queues(self) -> list[tuple[JobQueue, list[int]]]:
        """The queues that may start jobs, with their topics that have any."""
        found: dict[str, tuple[JobQueue, list[int]]] = {}
        jobs = self._jobs
        for (topic, state), many in jobs.table.counts.items():
            if many > 0 and state == JobState.QUEUED:
                queue = jobs.queue_of(topic)
                if queue.name not in jobs.queues.suspended:
                    found.setdefault(queue.name, (queue, []))[1].append(topic)
        return list(found.values())

    def _picks(self, queue: JobQueue, topics: list[int], desks: list["_Desk"]) -> Iterator[tuple[int, str]]:
        """The next jobs of one queue, each taken when it is yielded."""
        jobs, lane = self._jobs, self._jobs.lane_of(queue)
        left = queue.cluster_parallel or jobs.table.counts.total()
        left = (1 if lane else left) - jobs.running[queue.name, ""]
        able = {topic: [desk for desk in desks if runs(desk.worker.topics, jobs.topics[topic])] for topic in topics}
        able = {topic: found for topic, found in able.items() if found}
        for job, topic in self._next(queue, lane, able):
            desk = max(able[topic], key=lambda desk: desk.room(queue, topic))
            if left <= 0:
                return
            if desk.room(queue, topic) <= 0:
                del able[topic]  # so that the next ones of other topics follow
                continue
            left -= 1
            desk.give(queue, topic)
            jobs.waiting.take(job, lane)
            self._turn += 1
            self._served[topic] = self._turn
            yield job, desk.name

    def _next(self, queue: JobQueue, lane: str, able: Collection[int]) -> Iterator[tuple[int, int]]:
        """The jobs of the queue in their order, and their topics, as long as these are able to run."""
        waiting = self._jobs.waiting
        if lane and (held := waiting.first(lane)) is not None:
            topic = self._jobs.table.topics[self._jobs.table.find(held)]
            if topic in able and waiting.can_lease(held):
                yield held, topic
            return  # nothing else, until it has ended
        for priority in waiting.priorities():
            heads = [self._key(queue, job, topic) for job, topic in waiting.heads(priority, able)]
            heapify(heads)
            while heads:
                _, job, topic = heads[0]
                if topic in able and waiting.can_lease(job):  # no other job of its lane was taken meanwhile
                    yield job, topic
                head = next(waiting.heads(priority, (topic,)), None) if topic in able else None
                if head is None:
                    heappop(heads)
                elif (following := self._key(queue, *head)) != heads[0]:
                    heapreplace(heads, following)

    def _key(self, queue: JobQueue, job: int, topic: int) -> tuple[int, int, int]:
        """What comes first: the topic whose turn was the longest ago, if they take turns, then the oldest job."""
        in_turn = queue.order is QueueOrder.TOPIC_ROUND_ROBIN
        return (self._served.get(topic, 0) if in_turn else 0), job, topic


class _Desk:
    """What a worker has, and can take."""

    def __init__(self, jobs: Jobs, name: str, worker: Worker, mean_ms: dict[int, float]) -> None:
        self.name, self.worker = name, worker
        self._mean_ms = mean_ms
        leased = jobs.leased_to.get(name, ())
        self._slots_left = worker.slots - len(leased)
        self._ahead_ms = sum(self._time_ms(jobs.table.topics[jobs.table.find(job)]) for job in leased)
        self._running = defaultdict(int, {queue: many for (queue, its), many in jobs.running.items() if its == name})

    def room(self, queue: JobQueue, topic: int) -> float:
        """How gladly it takes a job: the share of its slots that is free, or not at all (0)."""
        if queue.parallel and self._running[queue.name] >= queue.parallel:
            return 0.0
        if self._slots_left > 0:
            return 1 + self._slots_left / self.worker.slots
        left_ms = AHEAD_MS * self.worker.slots - self._ahead_ms - self._time_ms(topic)
        return max(0.0, left_ms / (AHEAD_MS * self.worker.slots))

    def give(self, queue: JobQueue, topic: int) -> None:
        """It gets a job."""
        self._slots_left -= 1
        self._ahead_ms += self._time_ms(topic)
        self._running[queue.name] += 1

    def _time_ms(self, topic: int) -> float:
        return max(0.05, self._mean_ms.get(topic, UNKNOWN_MS))
