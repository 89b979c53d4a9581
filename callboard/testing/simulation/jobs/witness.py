"""An oracle: it keeps books on all jobs by the records alone, and checks what each record does."""

import json
from collections import defaultdict
from typing import Any

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.rules.refusals import WHOLE
from callboard.messages.jobs.job_messages import (
    JOB_MESSAGES,
    QUEUE_DECIDES,
    JobCommandMessage,
    JobOptions,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    Outcome,
    WorkerGoneMessage,
    job_id,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage
from callboard.messages.reading import Unread, read
from callboard.messages.record import Record
from callboard.testing.simulation.jobs.book import Book
from callboard.testing.simulation.jobs.digest import digest
from callboard.testing.simulation.jobs.flows import Flows, before
from callboard.testing.simulation.jobs.leasing import Leasing
from callboard.testing.simulation.jobs.plan import JobsPlan
from callboard.testing.simulation.jobs.schedules import check_tick
from callboard.testing.simulation.jobs.workers import TOPIC, Workers
from callboard.testing.simulation.topology.broken_rule import must

OF_OPEN_JOBS = ("leases", "leased_to", "running", "stopping", "suspects", "options", "creators")
"""What ``Jobs`` know only of jobs that have not ended."""


class Witness:
    """Reads the job topic. Raises ``BrokenRule``."""

    def __init__(self, plan: JobsPlan, workers: Workers) -> None:
        self.plan, self.workers = plan, workers
        self.jobs, self.books, self.offset = Jobs(), dict[int, Book](), 0
        self._open: dict[int, Book] = {}
        """Those that had not ended after the last record."""
        self.flows = Flows(self.books)
        self._requests: dict[str, int] = {}
        self._keys: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._fence: tuple[Any, ...] = ("", -1, "")
        self._leased_at = -1
        self._times_ms: dict[int, int] = {}
        self.leasing = Leasing(self.jobs, self._open)
        self._excused: set[tuple[int, int]] = set()
        """Leases that were taken back: their work may be done twice."""
        self._ended: set[tuple[int, int]] = set()

    def records(self, after: int) -> list[Record]:
        """The records after this offset."""
        log = self.workers.log
        return self.workers.simulation.run(log.read(TOPIC, after + 1, max_records=1_000_000, max_bytes=1 << 40))

    @property
    def _now_ms(self) -> int:
        return self.workers.simulation.clock.now().wall_ns // 1_000_000

    @property
    def left(self) -> dict[int, Book]:
        """The jobs that have not ended."""
        return self._open

    def look(self) -> None:
        """Check what is new."""
        for record in self.records(self.offset):
            self._see(record)
        wrong = self.workers.wrong + [each for worker in self.workers.workers.values() for each in worker.failures]
        must(not wrong, "workers and readers go on, and agree", wrong)

    def _see(self, record: Record) -> None:
        message: Any = read(record, JOB_MESSAGES, check_message)
        must(not isinstance(message, Unread), "all records can be read", message)
        at = At(record.offset, record.time_ns // 1_000_000)
        self.offset = record.offset
        self._times_ms[at.offset] = at.ms
        former = self.jobs.schedules.get(getattr(message, "schedule", ""))
        known = self.jobs.workers.copy()
        refused = apply(self.jobs, at, message)
        self.workers.count.update([type(message).__name__, *(["refused"] if WHOLE in refused else [])])
        match message:
            case JobsAddedMessage():
                self._added(at, message, refused, former)
            case JobsLeasedMessage():
                self._leased(at, message, refused, known)
            case JobsEndedMessage():
                for place, job in enumerate(message.jobs):
                    self._attempted(at, message, place, accepted=job not in refused)
            case JobsProgressedMessage():
                for said in message.progress:
                    self._reported(message.worker, said, accepted=said.job not in refused)
            case WorkerGoneMessage():
                self._gone(at, message, refused)
            case JobCommandMessage():
                self._commanded(at, message)
        self.flows.settle()
        for job, book in list(self._open.items()):
            state = self.jobs.state_of(job)
            must(state == book.state, "each record does what it says", (message, job, state, book))
            if not book.is_open:
                del self._open[job]
        if record.offset % 8 == 0:
            self.workers.tell_state(record, digest(self.jobs))

    # What records do.

    def _added(self, at: At, added: JobsAddedMessage, refused: dict[int, str], former: Any) -> None:
        if added.schedule:
            accepted = (
                former is not None and not former.suspended and added.schedule_set == former.set_at
                and added.tick_ms > former.base_ms
            )  # fmt: skip
            if accepted:
                check_tick(former, added.tick_ms, at.ms, self.plan)
        else:
            accepted = added.request not in self._requests
            self._requests.setdefault(added.request, at.offset)
        must(accepted == (WHOLE not in refused), "what is added twice is refused, and nothing else", added.request)
        options = {each.job: each for each in added.options}
        for place, topic in enumerate(added.topic_of if accepted else ()):
            job, its = job_id(at.offset, place), options.get(place, JobOptions(job=place))
            earlier = tuple(before(its, at.offset, added.earlier, self._requests))
            owned = bool(its.unique) and any(
                self.books[each].is_open or at.ms < until_ms for each, until_ms in self._keys[its.unique]
            )
            if not self.flows.are_known(job, earlier):
                must(job in refused, "no job waits for unknown ones", (job, its))
            elif self.plan.is_punctual or not its.unique:
                must(owned == (job in refused), "of the jobs with a key one is added", (job, its))
            if job in refused:
                continue
            if its.unique:
                self._keys[its.unique].append((job, at.ms + its.unique_ms))
            payload = json.loads(added.payloads[place])
            self.books[job] = Book(added.topics[topic], payload, its, at.offset, its.due_ms, earlier)
            self._open[job] = self.books[job]
            self.flows.add(job)

    def _leased(self, at: At, leased: JobsLeasedMessage, refused: dict[int, str], workers: dict[str, Any]) -> None:
        claim = leased.cluster_log, leased.epoch, leased.dispatcher
        begins = not leased.jobs and (claim[0] != self._fence[0] or claim[1] > self._fence[1])
        valid = claim == self._fence or begins
        outdated = leased.jobs and (
            leased.read_to < self._leased_at or self._times_ms.get(leased.read_to) != leased.read_ms
        )
        must((valid and not outdated) == (WHOLE not in refused), "only the last dispatcher leases, by what it has read",
             leased)  # fmt: skip
        if WHOLE in refused:
            return
        if begins and claim != self._fence:
            self._fence = claim
            self.leasing.passed.clear()
        self._leased_at = at.offset
        granted: list[Book] = []
        for job, place in zip(leased.jobs, leased.worker_of, strict=True):
            book, worker = self.books.get(job), leased.workers[place]
            if book is None or book.state != JobState.QUEUED or worker not in workers or job in self.flows:
                must(job in refused, "queued jobs are leased to workers that are there", leased)
                continue
            right = self.leasing.in_rate(book, at.ms, started=job not in refused) or not self.plan.is_punctual
            must(right, "jobs that may start are leased, and no others, also by the rate of their queue", (job, book))
            if job not in refused:
                self.leasing.able(book, workers[worker])
                if self.plan.is_punctual:
                    must(book.due_ms <= self._now_ms, "no job is leased before it is due", (job, book))
                self.leasing.in_turn(job, book, leased.read_to)
                book.state, book.worker, book.lease, book.due_ms = JobState.ACTIVE, worker, at.lease, 0
                book.begun, book.given = False, book.saved
                granted.append(book)
        self.leasing.limits(granted)
        self.leasing.order(granted, refused, leased.read_to)

    def _attempted(self, at: At, ended: JobsEndedMessage, place: int, *, accepted: bool) -> None:
        job, lease, outcome = ended.jobs[place], ended.leases[place], Outcome(ended.outcomes[place])
        book = self.books.get(job)
        holds = book is not None and book.worker == ended.worker and book.lease == lease
        must(holds == accepted, "an outcome counts for the lease that is there, and no other", (job, book))
        if book is None or not accepted:
            self.workers.count["late outcomes"] += not accepted
            return
        self._ended.add((job, lease))
        if outcome != Outcome.RETURNED:
            begun = self.workers.runs.get((job, lease), [])
            must(begun == [book.attempts + 1] or not self.plan.is_whole, "attempts are counted", (begun, book))
            given = self.workers.given.get((job, lease))
            right = given == (json.loads(book.given) if book.given else None) or not self.plan.is_whole
            must(right, "an attempt gets what was saved before", (given, book))
        worked = outcome != Outcome.SUCCEEDED or (job, lease) in self.workers.done
        must(worked, "a job succeeds only when its work is done", (job, book))
        if outcome == Outcome.SUCCEEDED:
            book.ends(JobState.SUCCEEDED)
        elif book.stopping:
            book.ends(JobState.STOPPED)
        elif outcome == Outcome.CANCELLED:
            book.ends(JobState.ERROR)
        elif outcome == Outcome.RETURNED:
            book.waits(at.offset)
        else:
            book.attempts += 1
            book.retries = self.leasing.queue(book).retries if (own := book.options.retries) == QUEUE_DECIDES else own
            given_up = 0 <= book.retries < book.attempts
            book.ends(JobState.GIVEN_UP) if given_up else book.waits(at.offset, self._due_ms(at, ended, place))

    def _due_ms(self, at: At, ended: JobsEndedMessage, place: int) -> int:
        asked_ms = next((end.retry_ms for end in ended.ends if end.job == place), -1)
        return at.ms + (asked_ms if asked_ms >= 0 else 50)

    def _reported(self, worker: str, said: JobProgress, *, accepted: bool) -> None:
        book = self.books.get(said.job)
        holds = book is not None and book.worker == worker and book.lease == said.lease
        must(holds or not accepted, "a report counts for the lease that is there, and no other", (said, book))
        if book is not None and holds:
            book.begun = True
            book.saved = said.saved if accepted and said.saved else book.saved

    def _gone(self, at: At, gone: WorkerGoneMessage, refused: dict[int, str]) -> None:
        crashed = bool(gone.cluster_log)
        accepted = not crashed or (gone.cluster_log, gone.epoch) == self._fence[:2]
        must(accepted == (WHOLE not in refused), "only the last dispatcher dismisses workers", gone)
        if not accepted:
            return
        must(gone.incarnation in self.workers.left or not crashed, "no member is dismissed", gone)
        for job, book in self._open.items():
            if book.worker == gone.incarnation:
                self._excused.add((job, book.lease))
                book.crashes += crashed and book.begun
                if book.stopping:
                    book.ends(JobState.STOPPED)
                elif book.crashes >= self.leasing.queue(book).crashes:
                    book.ends(JobState.GIVEN_UP)
                else:
                    book.waits(at.offset)

    def _commanded(self, at: At, said: JobCommandMessage) -> None:
        if said.suspend or said.configure or said.remove:
            self._leased_at = at.offset
        for job in said.forget:
            if (book := self.books.get(job)) is not None and not book.is_open:
                book.forgotten = True
        for job in (*said.stop, *said.drop):
            if (book := self.books.get(job)) is not None and book.is_open:
                book.commanded = True
                if job in said.stop and book.worker:
                    book.stopping = True
                else:
                    self._excused.add((job, book.lease))
                    book.ends(JobState.DROPPED if job in said.drop else JobState.STOPPED)

    # The end.

    def account(self) -> None:
        """All jobs have ended as they should; nothing ran twice but what was struck."""
        reports = self.jobs.reports
        left = [its for its in (*map(self.jobs.__getattribute__, OF_OPEN_JOBS), reports.present, reports.saved) if its]
        idle = [worker.is_idle for worker in self.workers.workers.values()]
        must(not left and all(idle), "nothing is left of jobs that have ended", (left, idle))
        for job, book in self.books.items():
            row = self.jobs.table.find(job)
            counted = row < 0 or (self.jobs.table.attempts[row], self.jobs.table.crashes[row]) == (
                book.attempts, book.crashes)  # fmt: skip
            must(counted, "attempts and crashes are counted", (job, book))
            must(self.jobs.state_of(job) in (book.state, None), "what has ended stays so", (job, book))
            right = book.commanded or book.state in self._expected(book)
            must(right, "each job ends as its code does", (job, book))
        if self.plan.is_whole:
            twice = {lease: begun for lease, begun in self.workers.runs.items() if len(begun) > 1}
            must(not twice, "no lease is run twice", twice)
            again = self.workers.done - self._ended - self._excused
            must(not again, "work is done again only if its worker was struck", again)

    def _expected(self, book: Book) -> set[JobState]:
        late = bool(book.options.timeout_ms)
        states = {JobState.GIVEN_UP} if book.crashes >= self.leasing.queue(book).crashes or late else set()
        if late and book.payload["run_s"] * 1000 > book.options.timeout_ms:
            return states
        if book.attempts > book.retries:
            return {JobState.GIVEN_UP} if book.payload["fails"] > book.retries or late else states
        return states | {JobState.ERROR if book.payload["cancels"] else JobState.SUCCEEDED}
