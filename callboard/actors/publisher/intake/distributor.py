"""Turns requests into packages on the log, in the order received."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from random import Random

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
from callboard.actors.core.effects import Append, FindBounds, TopicBounds
from callboard.actors.publisher.effects import BuildPackage
from callboard.actors.publisher.intake.admission import Admission
from callboard.actors.publisher.intake.answers import Answers
from callboard.actors.publisher.intake.batch import Batch, Job
from callboard.actors.publisher.intake.request import check_request, is_empty, package_of, with_identity
from callboard.actors.publisher.intake.throttle import ThrottleSettings
from callboard.actors.publisher.intake.throttle_notice import ThrottleNotice
from callboard.errors import (
    BlobUnavailable,
    CallboardError,
    LogUnavailable,
    RepositoryUnavailable,
    RequestRefused,
)
from callboard.messages.distribution.mailbox import DistributeRequest, DistributeResponse
from callboard.messages.distribution.publisher_mail import Counter, Counters, CountersQuery, Durations
from callboard.messages.distribution.topic_messages import Histogram, Kind, PackageMessage
from callboard.telemetry.traceparent import trace_of

PASSING = (LogUnavailable, BlobUnavailable, RepositoryUnavailable)
"""Errors that a retry may overcome."""
EMPTY = "empty request: the folder has no content; to remove its content at subscribers, delete its paths"
STOPPING = "the publisher is stopping; retry with the same request id once it is back"

WAITING_MAX = 1000
"""Requests that may wait, by default."""

COUNTED = (
    "requests_accepted_total", "requests_refused_total", "requests_dropped_total", "requests_throttled_total",
    "package_size_bytes_total",
)  # fmt: skip
"""What the metrics count, since the start."""


@dataclass(frozen=True, slots=True)
class DistributorSettings:
    """Who publishes, to which package topic, and whose backlog throttles it. Bounds: packages being built or waiting
    to be appended, requests waiting behind them, attempts to append, and answers remembered for repeated requests.
    Without ``keys`` the log takes the same record twice, so the newest packages are searched first. Notices of
    throttling go to the topic ``discovery``.
    """

    topic: str
    publisher: str
    instance: str
    producer: str
    keys: bool = True
    throttle: ThrottleSettings = field(default_factory=ThrottleSettings)
    discovery: str = "discovery"
    max_in_progress: int = 8
    max_waiting: int = WAITING_MAX
    max_attempts: int = 8
    max_answers: int = 10_000


class Distributor:
    """Builds several packages at a time, and appends them in the order of their requests.

    Receives: DistributeRequest. One repeated while in progress is built once and answered to all who asked.
        FleetView (fleet) and Sizes (queue_cache), by which it throttles. CountersQuery.
    Sends: DistributeResponse and Counters, to the asker; FleetQuery (fleet) and SizesQuery (queue_cache).
    Stores: packages on the log, keyed by request id, so that a repeated request gets its first offset; and there
        ThrottledMessage, while requests are throttled. In memory, bounded: the newest answers.
    Timers: "append", the back-off while the log is unavailable, 0.1 to 5 s; "admit", until the next request may go;
        "measure", limit for a query for the backlog, 5 s; "notice", until throttling is announced again or over;
        without keys the follower's back-off, 0.1 to 5 s.
    Gives up: on a request that cannot be built or finds too many waiting, or after ``max_attempts`` attempts to
        append; it may be made again.
    """

    def __init__(self, settings: DistributorSettings, rng: Random) -> None:
        self._settings = settings
        self._jobs: OrderedDict[str, Job] = OrderedDict()  # in progress, by request id
        self._waiting = Admission(settings.throttle, settings.publisher)
        its = settings
        self._answers = Answers(its.topic, its.publisher, its.max_answers, rng, recall=not its.keys)
        self._batch = Batch(settings.topic, settings.producer, settings.max_attempts, rng)  # the first jobs
        self._notice = ThrottleNotice(its.discovery, its.publisher, its.instance, its.producer)
        self._counted = dict.fromkeys(COUNTED, 0)
        self._builds, self._appends = Histogram(), Histogram()
        self._stopping = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started():
                yield from self._answers.start()
            case DistributeRequest():
                yield from self._request(message, origin, now)
            case Done(BuildPackage()) | Failed(BuildPackage()):
                self._built(message, now)
            case Done(Append(owner=ThrottleNotice.OWNER)) | Failed(Append(owner=ThrottleNotice.OWNER)):
                pass
            case Done(Append(), offsets):
                yield from self._appended(offsets, now)
            case Done(FindBounds(owner=Answers.END), TopicBounds(end=end)):
                self._answers.ends(end)
            case Failed(Append() | FindBounds(owner=Answers.END), error):
                yield from self._not_appended(error)
            case Tick("append"):
                yield from (self._batch.append(now),) if self._settings.keys else self._answers.catch_up()
            case CountersQuery():
                counters = tuple(Counter(name=name, value=value) for name, value in self._counted.items())
                builds = Durations(name="package_build_duration_seconds", histogram=self._builds)
                appends = Durations(name="package_append_duration_seconds", histogram=self._appends)
                yield Reply(origin, Counters(counters=counters, durations=(builds, appends)))
            case Stopping():
                self._stopping = True
                for job in self._waiting.drain():
                    yield from self._refuse(job, STOPPING, retry=True)
            case _:
                yield from self._waiting.handle(message, now)
                yield from self._answers.handle(message)
        yield from self._go_on(now)
        yield from self._notice.update(*self._waiting.held_up(now), len(self._waiting), now=now)

    def _request(self, request: DistributeRequest, origin: Origin, now: Moment) -> Iterable[Effect]:
        name = request.request_id
        if answer := self._answers.find(name):
            yield Reply(origin, answer)
        elif job := self._jobs.get(name) or self._waiting.find(name):
            job.origins.add(origin)
        elif busy := self._busy():
            yield from self._refuse(Job(request, {origin}), busy, retry=True)
        else:
            try:
                check_request(request)
            except RequestRefused as error:
                yield from self._refuse(Job(request, {origin}, code=error.code), str(error))
            else:
                yield from self._waiting.add(Job(request, {origin}), now)

    def _built(self, message: Done | Failed, now: Moment) -> None:
        its = self._settings
        match message:
            case Done(BuildPackage(request), PackageMessage() as package):
                job = self._jobs[request.request_id]
                self._builds = self._builds.with_one(now.mono_s - job.begun_s)
                if is_empty(package, request.at):
                    job.refusal, job.dropped = EMPTY, True
                else:
                    job.package = with_identity(package, request, its.publisher, its.instance)
            case Failed(BuildPackage(request), error):
                job = self._jobs[request.request_id]
                job.refusal, job.code, job.passing = str(error), error.code, isinstance(error, PASSING)

    def _busy(self) -> str:
        if self._stopping:
            return STOPPING
        if len(self._waiting) >= self._settings.max_waiting:
            return f"{len(self._waiting)} requests are already waiting; retry later with the same request id"
        return ""

    def _go_on(self, now: Moment) -> Iterable[Effect]:
        """Refuse, build and append in order."""
        if self._answers.caught_up():
            yield from self._append_the_rest(now)
        while not self._batch.jobs and self._jobs and (job := next(iter(self._jobs.values()))).refusal:
            del self._jobs[job.request.request_id]
            yield from self._refuse(job, job.refusal, retry=job.passing)
        if self._answers.problem:
            for job in self._waiting.drain():
                yield from self._refuse(job, self._answers.problem, retry=True)
        free = self._settings.max_in_progress - len(self._jobs) if self._answers.complete else 0
        for admitted in self._waiting.admit(free, list(self._jobs.values()), now):
            if isinstance(admitted, After):
                yield admitted
                continue
            if answer := self._answers.find(admitted.request.request_id):
                yield from (Reply(origin, answer) for origin in sorted(admitted.origins))
                continue
            self._jobs[admitted.request.request_id] = admitted
            if admitted.request.kind is Kind.ADD:
                admitted.begun_s = now.mono_s
                yield BuildPackage(admitted.request)
            else:
                admitted.package = package_of(admitted.request, self._settings.publisher, self._settings.instance)
        built = takewhile(lambda job: job.package is not None, self._jobs.values())
        if not self._batch.jobs and self._batch.take(built, now):
            yield self._batch.append(now)
        if self._stopping and not self._jobs:
            yield Stopped()

    def _appended(self, offsets: tuple[int, ...], now: Moment) -> Iterable[Effect]:
        self._appends = self._appends.with_one(now.mono_s - self._batch.began_s)
        jobs = self._finish()
        self._waiting.appended(jobs)
        for job, offset in zip(jobs, offsets, strict=True):
            assert job.package is not None
            answer = DistributeResponse(
                request_id=job.request.request_id,
                accepted=True,
                package_id=job.package.package_id,
                offset=offset,
                length=job.package.fetched_bytes,
                entries=job.package.entries,
                throttled_ms=job.throttled_ms,
                throttled_by=job.throttled_by,
            )
            self._count("accepted")
            self._counted["package_size_bytes_total"] += answer.length
            if job.throttled_ms:
                self._count("throttled")
            self._answers.remember(answer)
            yield note(
                "package.appended", request_id=answer.request_id, offset=offset, length=answer.length,
                throttled_ms=answer.throttled_ms, throttled_by=answer.throttled_by, **trace_of(job.request.traceparent),
            )  # fmt: skip
            yield from (Reply(origin, answer) for origin in sorted(job.origins))

    def _not_appended(self, error: CallboardError) -> Iterable[Effect]:
        yield note("append.failed", "warning", error=str(error))
        if wait := self._batch.retry(error, "append"):
            yield wait
        elif not self._batch.take_apart(error):
            advice = "; it may still be on the log: retry with the same request id"
            for job in self._finish():
                passing, job.code = isinstance(error, PASSING), error.code
                yield from self._refuse(job, f"{error}{advice if passing else ''}", retry=passing)

    def _count(self, what: str) -> None:
        self._counted[f"requests_{what}_total"] += 1

    def _append_the_rest(self, now: Moment) -> Iterable[Effect]:
        """Append again what the last attempt did not get to the log."""
        found = [(job, self._answers.find(job.request.request_id)) for job in self._batch.jobs]
        for job, answer in found:
            if answer is not None:
                del self._jobs[job.request.request_id]
                yield from (Reply(origin, answer) for origin in sorted(job.origins))
        self._batch.jobs = [job for job, answer in found if answer is None]
        if self._batch.jobs:
            yield self._batch.append(now)
        else:
            self._batch.finish()

    def _finish(self) -> list[Job]:
        jobs = self._batch.finish()
        for job in jobs:
            del self._jobs[job.request.request_id]
        return jobs

    def _refuse(self, job: Job, reason: str, *, retry: bool = False) -> Iterable[Effect]:
        name = job.request.request_id
        self._count("refused")
        if job.dropped:
            self._count("dropped")
        yield note("request.refused", "warning", request_id=name, reason=reason)
        answer = DistributeResponse(
            request_id=name,
            accepted=False,
            reason=reason,
            retry=retry,
            dropped=job.dropped,
            throttled_ms=job.throttled_ms,
            throttled_by=job.throttled_by,
            code=job.code,
        )
        yield from (Reply(origin, answer) for origin in sorted(job.origins))
