"""Which jobs the dispatcher leases next, and to whom."""

from collections import Counter, deque
from collections.abc import Collection, Iterator
from heapq import heapify, heappop, heapreplace
from itertools import islice

from callboard.actors.jobs.jobs import Jobs, Worker
from callboard.messages.jobs.job_messages import BATCH_MAX, JobQueue, JobsEndedMessage, Outcome, QueueOrder
from callboard.messages.jobs.job_state import JobState

TURN = 50
"""Jobs of one queue that are planned before those of the next."""

AHEAD_MS = 50.0
"""A worker is given more jobs than it has slots if all will have started after this time: enough for the next lease to
arrive, and little to wait for if the jobs take longer than they used to."""

MEAN_WEIGHT = 0.1
"""Of the latest running time in the mean of a topic."""

AHEAD_MAX = 2000
"""Jobs that one worker is given beyond its slots: more than it can run in that time, however short they are."""

PAUSE_MS = 100
"""After a lease that came before its time by the clock of the log, which may be behind the dispatcher's."""

UNKNOWN_MS = 1000.0
"""How long the first job of a topic is taken to run."""


class Planner:
    """Plans leases. It remembers how long jobs take, and which topics had their turn."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._mean_ms: dict[int, float] = {}
        self._served: dict[int, int] = {}
        self._served_queue: dict[str, int] = {}
        self._turn = 0
        self._former = self._served, self._served_queue
        """The turns before the last plan."""
        self._now_ms = 0
        self._paused_ms: dict[str, int] = {}
        self.next_ms: int | None = None
        """When there may be more to plan, by the limits of rate."""

    def learn(self, ended: JobsEndedMessage) -> None:
        """Take in how long jobs ran; call it before the message is applied to the jobs."""
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
        self._former = self._served.copy(), self._served_queue.copy()
        self._now_ms, self.next_ms = now_ms, None
        self._paused_ms |= dict.fromkeys(jobs.rates.refused, now_ms + PAUSE_MS)
        jobs.rates.refused.clear()
        desks = [_Desk(jobs, name, worker, self._mean_ms) for name, worker in jobs.workers.items() if worker.slots]
        running = sum(map(jobs.running_of, jobs.running), Counter[str]())
        queues = sorted(self._queues(), key=lambda found: self._served_queue.get(found[0].name, 0))
        turns = deque(self._picks(queue, topics, desks, running[queue.name]) for queue, topics in queues)
        planned: list[tuple[int, str]] = []
        while turns and (room := BATCH_MAX - len(planned)) > 0:
            picks = turns.popleft()
            found = list(islice(picks, min(TURN, room)))
            planned += found
            if len(found) == TURN:
                turns.append(picks)
        return planned

    def undo(self) -> None:
        """Nothing that was planned last was leased: nobody has had a turn."""
        self._served, self._served_queue = self._former

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

    def _picks(
        self, queue: JobQueue, topics: list[int], desks: list["_Desk"], running: int
    ) -> Iterator[tuple[int, str]]:
        """The next jobs of one queue, each taken when it is yielded. ``running`` is how many of it run already."""
        jobs, lane = self._jobs, self._jobs.lane_of(queue)
        left = queue.cluster_parallel or jobs.table.counts.total()
        left = (1 if lane else left) - running
        left = min(left, self._startable(queue)) if queue.rate else left
        able = {topic: [desk for desk in desks if desk.worker.can_run(jobs.topics[topic], queue)] for topic in topics}
        able = {topic: found for topic, found in able.items() if found}
        for job, topic in self._next(queue, lane, able):
            if left <= 0:
                return
            rooms = [desk.room(queue, topic) for desk in able[topic]]
            desk = able[topic][rooms.index(max(rooms))]
            if max(rooms) <= 0:
                for each in able.pop(topic):  # so that the next ones of other topics follow
                    each.keep_for(queue)
                continue
            if queue.prefer_creator:
                home = jobs.creators.get(job)
                at_home = [place for place, each in enumerate(able[topic]) if each.worker.host == home]
                place = max(at_home, key=rooms.__getitem__, default=0)
                desk = able[topic][place] if at_home and rooms[place] > 1 else desk  # it has a free slot
            left -= 1
            desk.give(queue, topic)
            jobs.waiting.take(job, lane)
            self._turn += 1
            self._served[topic] = self._served_queue[queue.name] = self._turn
            yield job, desk.name

    def _startable(self, queue: JobQueue) -> int:
        """How many jobs the limit of rate lets start now."""
        rates, now_ms = self._jobs.rates, self._now_ms
        again_ms = self._paused_ms.get(queue.name, 0)
        is_paused = now_ms < again_ms <= now_ms + PAUSE_MS  # not if the clock was set back meanwhile
        if not is_paused and (many := rates.left(queue, now_ms)):
            return many
        again_ms = again_ms if is_paused else rates.next_ms(queue, now_ms)
        self.next_ms = min(self.next_ms or again_ms, again_ms)
        return 0

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
                if topic in able and waiting.is_free(job):
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
        running = jobs.running.get(name, Counter[int]())
        self._slots_left = worker.slots - sum(running.values())
        self._ahead_ms = sum(many * self._time_ms(topic) for topic, many in running.items())
        self._running = jobs.running_of(name)
        waiting = max(0, -self._slots_left)
        waiting_ms = self._ahead_ms * waiting / (worker.slots + waiting)
        half_is_left = waiting >= AHEAD_MAX // 2 or self._ahead_ms + waiting_ms > AHEAD_MS * worker.slots
        self._ahead_max = 0 if half_is_left else AHEAD_MAX  # few large leases cost less than many small ones

    def room(self, queue: JobQueue, topic: int) -> float:
        """How well it can take a job: 0 is not at all, and more than 1 with a free slot."""
        if queue.parallel and self._running[queue.name] >= queue.parallel:
            return 0.0
        if self._slots_left > 0:
            return 1 + self._slots_left / self.worker.slots
        if self._slots_left <= -self._ahead_max:
            return 0.0
        left_ms = AHEAD_MS * self.worker.slots - self._ahead_ms - self._time_ms(topic)
        return max(0.0, left_ms / (AHEAD_MS * self.worker.slots))

    def give(self, queue: JobQueue, topic: int) -> None:
        """It gets a job."""
        self._slots_left -= 1
        self._ahead_ms += self._time_ms(topic)
        self._running[queue.name] += 1

    def keep_for(self, queue: JobQueue) -> None:
        """A job of the queue found no room, and those behind it must not take it: it gets the next slot that is free.
        Jobs that are leased ahead would fill all slots for ever.
        """
        if not queue.parallel or self._running[queue.name] < queue.parallel:
            self._ahead_ms = float("inf")

    def _time_ms(self, topic: int) -> float:
        return max(0.05, self._mean_ms.get(topic, UNKNOWN_MS))
