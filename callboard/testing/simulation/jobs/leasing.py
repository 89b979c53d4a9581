"""What must hold when jobs are leased: limits, and the order of jobs."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from callboard.actors.jobs.jobs import Jobs, Worker
from callboard.actors.jobs.topics import runs
from callboard.messages.jobs.job_messages import JobQueue, QueueOrder
from callboard.messages.jobs.job_state import JobState
from callboard.testing.simulation.jobs.book import Book
from callboard.testing.simulation.topology.broken_rule import must

PASSED_MAX = 5
"""How often topics that take turns may be served while another one waits: a lease that comes late counts as one."""


class Leasing:
    """Checks each lease by the ``books`` of the jobs that have not ended. ``passed`` is for how many leases topics have
    waited for their turn.
    """

    def __init__(self, jobs: Jobs, books: Mapping[int, Book]) -> None:
        self._jobs, self._books = jobs, books
        self.passed: Counter[str] = Counter()
        self._begun_ms: defaultdict[str, list[int]] = defaultdict(list)

    def queue(self, book: Book) -> JobQueue:
        """The job's queue."""
        return self._jobs.queue_of(self._jobs.numbers[book.topic])

    def in_turn(self, job: int, book: Book, read_to: int) -> None:
        """Jobs of a lane, and of an ordered queue, run one after another, by age."""
        queue = self.queue(book)
        for other, its in self._books.items():
            lane = bool(book.options.lane) and its.options.lane == book.options.lane
            if other == job or not its.is_open or not (lane or (queue.order is QueueOrder.ORDERED
                                                               and self.queue(its).name == queue.name)):  # fmt: skip
                continue
            story = (job, book, other, its)
            must(its.lease < 0, "jobs run one after another in a lane or an ordered queue", story)
            alike = its.topic == book.topic and not its.options.lane and its.options.priority >= book.options.priority
            ahead = other < job and book.lease < 0 and not its.options.due_ms and not its.before
            ahead = ahead and its.since <= read_to
            must(not (ahead and (lane or alike)), "jobs run by age in a lane or an ordered queue", story)

    def able(self, book: Book, worker: Worker) -> None:
        """Only those workers run a job that can, and want to."""
        wanted = runs(worker.topics, book.topic) and not runs(worker.deny, book.topic)
        tagged = {*self.queue(book).tags} <= {*worker.tags}
        must(wanted and tagged, "no worker gets what it does not run", (book, worker))

    def in_rate(self, book: Book, ms: int, *, started: bool) -> bool:
        """Whether it is right to start the job, or not to, by its queue's rate: starts may count a hundredth longer."""
        queue = self.queue(book)
        if not queue.rate:
            return started
        begun_ms = self._begun_ms[queue.name]
        longest_ms = queue.rate_ms if started else queue.rate_ms * 101 // 100
        full = sum(each_ms > ms - longest_ms for each_ms in begun_ms) >= queue.rate
        if started:
            begun_ms.append(ms)
        return full != started

    def limits(self, granted: list[Book]) -> None:
        """No limit is exceeded."""
        running = [book for book in self._books.values() if book.worker]
        for queue in {self.queue(book).name: self.queue(book) for book in granted}.values():
            its = [book for book in running if self.queue(book).name == queue.name]
            each = Counter(book.worker for book in its)
            most = max(each[book.worker] for book in granted if self.queue(book).name == queue.name)
            story = (its, queue)
            must(len(its) <= (queue.cluster_parallel or len(its)), "no limit of a queue is exceeded", story)
            must(most <= (queue.parallel or most), "no limit of a worker is exceeded", story)
            must(queue.name not in self._jobs.queues.suspended, "a suspended queue starts no job", story)

    def order(self, granted: list[Book], refused: Collection[int], read_to: int) -> None:
        """Of one topic, the more urgent jobs come first, then the older ones; topics in turn wait for each other. Those
        that were ``refused``, as their worker has gone meanwhile, come later.
        """
        ids = {id(book): job for job, book in self._books.items()}

        def rank(book: Book) -> tuple[int, int]:
            return -book.options.priority, ids[id(book)]

        last = {book.topic: book for book in sorted(granted, key=rank)}
        plain = [
            book for job, book in self._books.items()
            if book.state == JobState.QUEUED and not book.options.lane and not book.due_ms and not book.before
            and book.since <= read_to and job not in refused
        ]  # fmt: skip
        for book in plain:
            if book.topic in last and self.queue(book).order is not QueueOrder.ORDERED:
                must(rank(last[book.topic]) < rank(book), "no job overtakes an older one of its topic and priority",
                     (last[book.topic], book))  # fmt: skip
        served = Counter(book.topic for book in granted if book.topic.startswith("turn/"))
        waiting = {book.topic for book in plain if book.topic.startswith("turn/")}
        for topic in waiting - served.keys():
            self.passed[topic] += max(served.values(), default=0)
            must(self.passed[topic] <= PASSED_MAX, "topics take turns", (topic, served))
        for topic in self.passed.keys() - (waiting - served.keys()):
            del self.passed[topic]
