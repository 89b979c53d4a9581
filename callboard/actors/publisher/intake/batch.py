"""The packages being appended to the log: in order, as one batch."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import After, Moment, Origin
from callboard.actors.core.effects import Append
from callboard.errors import CallboardError, LogUnavailable
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import new_record


@dataclass(slots=True)
class Job:
    """A request in progress: being built until it has a ``package``, or a ``refusal``.

    ``begun_s`` (building), ``received_s`` and ``due_s`` are moments of the monotonic clock: the job is not admitted
    before ``due_s``, which is known once the backlog of ``throttled_by`` is ``measured``.
    """

    request: DistributeRequest
    origins: set[Origin] = field(default_factory=set)
    package: PackageMessage | None = None
    refusal: str = ""
    code: str = ""  # of the refusal
    passing: bool = False  # whether a retry may help
    dropped: bool = False  # refused because there is nothing to ship
    begun_s: float = 0.0
    received_s: float = 0.0
    due_s: float = 0.0
    measured: bool = False
    throttled_ms: int = 0
    throttled_by: str = ""


class Batch:
    """Jobs whose packages are built. One batch at a time is being appended.

    The records are keyed by package id, which is made from publisher and request id, so that appending them
    again is harmless.
    """

    def __init__(self, topic: str, producer: str, max_attempts: int, rng: Random) -> None:
        self.jobs: list[Job] = []
        self.began_s = 0.0  # when they were taken, by the monotonic clock
        self._topic = topic
        self._producer = producer
        self._max_attempts = max_attempts
        self._rng = rng
        self._attempt = 0
        self._one_by_one = 0  # jobs left of a batch that was split

    def take(self, built: Iterable[Job], now: Moment) -> bool:
        """Take the next jobs, if there are any."""
        self.began_s = now.mono_s
        self.jobs = list(islice(built, 1 if self._one_by_one else None))
        return bool(self.jobs)

    def append(self, now: Moment) -> Append:
        """The effect that puts them on the log."""
        built = [(job.request, job.package) for job in self.jobs if job.package is not None]
        records = tuple(
            new_record(
                package,
                record_id=package.package_id,
                time_ns=now.wall_ns,
                producer=self._producer,
                key=package.package_id,
                cause=request.request_id,
                traceparent=request.traceparent,
            )
            for request, package in built
        )
        return Append(self._topic, records)

    def retry(self, error: CallboardError, timer: str) -> After | None:
        """The wait before the next attempt; None if there is none."""
        self._attempt += 1
        if isinstance(error, LogUnavailable) and self._attempt < self._max_attempts:
            return After(timer, RETRY.delay_s(self._attempt, self._rng))
        return None

    def take_apart(self, error: CallboardError) -> bool:
        """Whether the jobs are now tried one by one, to find which of them the log rejects."""
        if isinstance(error, LogUnavailable) or len(self.jobs) == 1:
            return False
        self._one_by_one, self._attempt, self.jobs = len(self.jobs), 0, []
        return True

    def finish(self) -> list[Job]:
        """The jobs, which are finished."""
        done, self.jobs = self.jobs, []
        self._attempt = 0
        self._one_by_one = max(self._one_by_one - 1, 0)
        return done
