"""The service's questions to the actors of a worker agent. Never on the log."""

from dataclasses import dataclass

from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import JobContext, JobsEndedMessage, WorkerGoneMessage, WorkerMessage
from callboard.messages.jobs.progress_messages import JobsProgressedMessage
from callboard.messages.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedJob(Event):
    """A job to run. ``attempt`` counts from 1; ``timeout_ms`` of 0 is no limit. ``lease`` is the offset of the record
    that leased it. It has failed if it reports nothing for ``quiet_ms``. ``saved`` is what a former attempt saved. A
    ``suspect`` was leased when a worker crashed: it is only run once the log has that it is.
    """

    job: int
    topic: str
    payload: bytes = b""
    creator: str = ""
    attempt: int = 1
    timeout_ms: int = 0
    retry_exceptions: bool = True
    lease: int = -1
    after: tuple[int, ...] = ()
    after_counts: tuple[int, ...] = ()
    quiet_ms: int = 0
    saved: bytes = b""
    suspect: bool = False
    context: JobContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Event):
    """What the worker has leased that it did not know, what it has no longer, and what it is to stop. ``problem`` is
    why there is nothing to know, with ``detail`` for people: "unavailable", "too_new", "gap" or "log_replaced".
    A ``stranger`` is a worker of which the log does not know that it is ready.
    """

    leased: tuple[LeasedJob, ...] = ()
    revoked: tuple[int, ...] = ()
    stopping: tuple[int, ...] = ()
    problem: str = ""
    detail: str = ""
    stranger: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchWork(Question[Work]):
    """Answer as soon as the worker has other leases than the ``known`` ones, or is to stop others than ``stopping``; at
    the latest after ``wait_ms``. ``leases`` are those of the known jobs.
    """

    worker: str
    known: tuple[int, ...] = ()
    leases: tuple[int, ...] = ()
    stopping: tuple[int, ...] = ()
    wait_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """The answer to what needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellCluster(Question[Noted]):
    """The service's view of the cluster: its epoch, and the incarnations of its members, in their order.

    This process, ``incarnation``, may dispatch while it has ``standing``: while it may count on its membership.
    """

    cluster_log: str
    epoch: int
    incarnation: str
    standing: bool = False
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReported(Event):
    """It is on the log; ``offset`` is that of the last record."""

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport(Question[WorkerReported]):
    """Append what the worker says. Answered when it is on the log, however long that takes."""

    ended: JobsEndedMessage | None = None
    progressed: JobsProgressedMessage | None = None
    worker: WorkerMessage | None = None
    gone: WorkerGoneMessage | None = None

    @property
    def messages(self) -> tuple[Event, ...]:
        """What to append."""
        given = (self.worker, self.progressed, self.ended, self.gone)
        return tuple(message for message in given if message is not None)
