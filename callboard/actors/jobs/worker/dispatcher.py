"""Follows the job topic, tells the worker what it has leased, and leases jobs if this is the one of all that does."""

from collections.abc import Iterable
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Reply,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import Append, EnsureTopic, LogRead, ReadLog, TrimTopic
from callboard.actors.core.follower import Delivered, Unavailable
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.snapshots.search import Snapshot
from callboard.actors.jobs.worker.dispatching import NOBODY, Dispatching
from callboard.actors.jobs.worker.following import Begun, Gap, JobFollower
from callboard.actors.jobs.worker.payloads import Payloads
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.errors import CallboardError
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_mail import LeasedJob, Noted, TellCluster, WatchWork, Work
from callboard.messages.jobs.job_messages import JOB_MESSAGES, JobsAddedMessage, JobsEndedMessage, offset_of
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Problem, Unread, read
from callboard.messages.record import Record

ENSURE, DUE, LEASE, WATCH, FETCH, GAP = "ensure", "due", "lease", "watch", "fetch", "gap"

GAP_S = 60.0
"""After this, a topic without its beginning may have a snapshot: the dispatcher goes on if it had read all."""

NS_PER_MS = 1_000_000

FETCH_RECORDS = 100
"""Read at once to find a payload: the jobs that are leased together were mostly added together."""


class Dispatcher:
    """Folds the job topic, from a snapshot on if there is one. One of all appends leases, the jobs of schedules and
    snapshots, each time when what it appended before is read back; and trims what no one needs any more.

    Receives: WatchWork of the service, answered when there is anything new for its worker, at the latest after
        ``wait_ms``; TellCluster.
    Sends: Work and Noted, to the service.
    Stores: nothing but leases, the jobs of schedules and snapshots; creates and trims the job topic.
    Timers: "due", when the next waiting job is due, or the next tick of a schedule; "lease", after an append failed;
        "watch", for the question; "fetch", after the reading of payloads failed; "gap", to look for a snapshot again;
        the follower's.
    Gives up: when a record is too new, or was removed that a job needs, with the problem in Work.
    """

    def __init__(self, settings: WorkerSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._attempt = 0
        self._problem, self._detail = "", ""
        self._asked: tuple[Origin, WatchWork] | None = None
        self._follower = JobFollower(settings.topic, rng)
        self._begin(Snapshot("", -1, Jobs()), NOBODY)

    def _begin(self, its: Snapshot, told: TellCluster) -> None:
        self._jobs = its.jobs
        self._payloads = Payloads()
        self._dispatching = Dispatching(self._settings, its, told)
        self._fetching = -1  # the offset

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() | Tick("ensure"):
                yield EnsureTopic(self._settings.topic)
            case Done(EnsureTopic()):
                yield from self._follower.start()
            case Failed(EnsureTopic() | ReadLog(owner="fetch") | Append() | TrimTopic() as effect, error):
                yield from self._failed(effect, error)
            case Done(Append(), offsets):
                self._attempt = 0
                self._dispatching.appended(offsets)
            case Done(ReadLog(owner="fetch"), LogRead(records=records)):
                self._fetched(records)
            case TellCluster():
                self._dispatching.told = message
                yield Reply(origin, Noted())
            case WatchWork():
                self._asked = origin, message
                yield After(WATCH, message.wait_ms / 1000)
            case Tick("watch") if self._asked:
                yield from self._answer(
                    Work(problem=self._problem, detail=self._detail, stranger=self._is_stranger(self._asked[1].worker))
                )
            case Tick("fetch" | "lease" | "gap" as key):
                yield from self._retry(key)
            case Stopping():
                yield Stopped()
                return
            case _:
                yield from self._follow(message, now)
        if self._knows_all:
            yield from self._dispatch(now)
            yield from self._tell()

    @property
    def _knows_all(self) -> bool:
        return self._follower.caught_up and not self._problem

    def _retry(self, key: str) -> Iterable[Effect]:
        if key == LEASE:
            self._dispatching.retry()
        elif key == FETCH:
            self._fetching = -1
        else:
            self._stop("", "")
            yield from self._follower.again()

    def _failed(self, effect: EnsureTopic | ReadLog | Append | TrimTopic, error: CallboardError) -> Iterable[Effect]:
        if isinstance(effect, TrimTopic):
            yield note("topic.not_trimmed", "warning", topic=effect.topic, error=str(error))
            return
        self._attempt += 1
        if isinstance(effect, Append):
            self._dispatching.failed()
        key = {EnsureTopic: ENSURE, ReadLog: FETCH, Append: LEASE}[type(effect)]
        level = "warning" if self._attempt == 1 else "debug"
        yield note("dispatcher.failed", level, what=key, attempt=self._attempt, error=str(error))
        yield After(key, RETRY.delay_s(self._attempt, self._rng))

    # The topic.

    def _follow(self, message: Input, now: Moment) -> Iterable[Effect]:
        news, effects = self._follower.handle(message)
        match news:
            case Begun(snapshot):
                self._begin(snapshot, self._dispatching.told)
            case Delivered(records=records):
                for record in records:
                    self._see(record, now)
            case Gap(detail):
                self._stop("gap", detail)
                yield After(GAP, GAP_S)
            case Unavailable(reason):
                self._detail = reason
        if not self._problem:
            yield from effects

    def _see(self, record: Record, now: Moment) -> None:
        if self._problem:
            return
        message = read(record, JOB_MESSAGES, check_message)
        if isinstance(message, JobsAddedMessage):
            self._payloads.keep(record.offset, message)
        elif isinstance(message, JobsEndedMessage):
            self._dispatching.learn(message)
        if not isinstance(message, Unread):
            apply(self._jobs, At(record.offset, record.time_ns // NS_PER_MS), message)
        elif message.problem is Problem.TOO_NEW:
            self._stop("too_new", message.detail)
        self._dispatching.snapshots.see(record, message, now.mono_s)
        self._dispatching.read(record.offset)

    def _stop(self, problem: str, detail: str) -> None:
        self._problem, self._detail = problem, detail

    # Leasing.

    def _dispatch(self, now: Moment) -> Iterable[Effect]:
        messages = self._dispatching.next(now)
        if messages:
            its = self._settings.instance
            yield Append(self._settings.topic, tuple(
                new_record(each, record_id=f"{its}/{self._rng.getrandbits(64):016x}", time_ns=now.wall_ns, producer=its)
                for each in messages
            ))  # fmt: skip
        if (below := self._dispatching.trim_below(now)) >= 0:
            yield TrimTopic(self._settings.topic, self._follower.log_id, below)
        for name, why in self._dispatching.problems():
            yield note("schedule.blocked", "error", schedule=name, reason=why)
        if (due_ms := self._dispatching.next_due_ms) is not None:
            yield After(DUE, max(0.0, due_ms / 1000 - now.wall_ns / 1e9))

    # The worker.

    def _tell(self) -> Iterable[Effect]:
        """Answer if there is anything new for the worker."""
        if self._asked is None:
            return
        _, asked = self._asked
        leased = self._jobs.leased_to.get(asked.worker, {})
        known = dict(zip(asked.known, asked.leases, strict=True))
        work = dict[int, LeasedJob]()
        for job, lease in leased.items():
            if known.get(job) == lease:
                continue
            if (found := self._payloads.find(job)) is None:
                if not work:
                    yield from self._fetch(job)
                break
            work[job] = self._work(job, lease, *found)
        revoked = tuple(job for job, lease in known.items() if leased.get(job) != lease)
        stopping = {job for job in self._jobs.stopping if job in known or job in work}
        if work or revoked or stopping != set(asked.stopping):
            yield from self._answer(
                Work(leased=tuple(work.values()), revoked=revoked, stopping=tuple(sorted(stopping)))
            )

    def _is_stranger(self, worker: str) -> bool:
        return self._knows_all and worker not in self._jobs.workers

    def _answer(self, work: Work) -> Iterable[Effect]:
        assert self._asked is not None
        origin, self._asked = self._asked[0], None
        yield After(WATCH, -1)
        yield Reply(origin, work)

    def _work(self, job: int, lease: int, added: JobsAddedMessage, place: int) -> LeasedJob:
        jobs, row = self._jobs, self._jobs.table.find(job)
        queue, options = jobs.queue_of(jobs.table.topics[row]), jobs.options.get(job)
        return LeasedJob(
            job=job, lease=lease, topic=added.topics[added.topic_of[place]], payload=added.payloads[place],
            creator=added.creator, attempt=jobs.table.attempts[row] + 1,
            timeout_ms=(options.timeout_ms if options else 0) or queue.timeout_ms,
            after=options.after if options else (),
            after_counts=options.after_counts if options else (),
            retry_exceptions=queue.retry_exceptions, quiet_ms=queue.quiet_ms,
            saved=jobs.reports.saved.get(job, b""), suspect=job in jobs.suspects,
            context=added.contexts[added.context_of[place]] if added.contexts else None,
        )  # fmt: skip

    def _fetch(self, job: int) -> Iterable[Effect]:
        if self._fetching < 0:
            self._fetching = offset_of(job)
            yield ReadLog(self._settings.topic, self._fetching, FETCH_RECORDS, owner=FETCH)

    def _fetched(self, records: tuple[Record, ...]) -> None:
        offset, self._fetching = self._fetching, -1
        if offset < 0:
            return  # it was read before the topic was replaced
        if not records or records[0].offset != offset:
            self._stop("gap", f"record {offset} of the job topic, which added a job that waits, was removed")
        for record in reversed(records):  # the first are needed first, so they are kept last
            added = read(record, JOB_MESSAGES, check_message)
            if isinstance(added, JobsAddedMessage):
                self._payloads.keep(record.offset, added)
