"""The messages of the job topic. ``actors/jobs`` has the rules for them.

A job's id is the offset of the record that added it and its place in the batch: see ``job_id``. Lists of jobs are in
columns: the i-th entry of each list is about the i-th job.
"""

from dataclasses import dataclass
from enum import IntEnum

from callboard.messages.event import Event
from callboard.messages.jobs.progress_messages import JobsProgressedMessage

BATCH_MAX = 1000
"""Jobs in one record."""

PLACE_BITS = 10

QUEUE_DECIDES = -2
"""The number of retries, if it is not the job's own."""


def job_id(offset: int, place: int) -> int:
    """The id of the job at this place of the batch at this offset: unique, and growing with the order of adding."""
    return offset << PLACE_BITS | place


def offset_of(job: int) -> int:
    """The offset of the record that added the job."""
    return job >> PLACE_BITS


def place_of(job: int) -> int:
    """The job's place in its batch."""
    return job & (1 << PLACE_BITS) - 1


class Outcome(IntEnum):
    """How an attempt ended. ``FAILED`` leads to a retry if the job has any left, ``CANCELLED`` to none. A ``RETURNED``
    job was not attempted, or its worker stopped: it waits again and keeps its retries.
    """

    SUCCEEDED = 0
    FAILED = 1
    CANCELLED = 2
    RETURNED = 3


class QueueOrder(IntEnum):
    """In which order the jobs of a queue are started: the oldest first, one after another, or by topics in turn."""

    UNORDERED = 0
    ORDERED = 1
    TOPIC_ROUND_ROBIN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions(Event):
    """What one job has apart from its topic and payload; ``job`` is its place in the batch.

    ``due_ms`` is since the epoch. Of all jobs that are due, those of higher ``priority`` start first. Jobs of one
    ``lane`` run one after another. While a job is unfinished, and for ``unique_ms`` after it was added, no other one
    with the same ``unique`` key is added.

    It waits until all jobs of some ranges have ended: the first ids of these are ``after``, their lengths
    ``after_counts``, and each is within one batch. If one of the jobs does not succeed, it is dropped, unless it runs
    ``after_failures``. The offset in a first id is -1 for the same batch, and -2 - n for the n-th ``earlier`` request.
    """

    job: int
    due_ms: int = 0
    priority: int = 0
    lane: str = ""
    unique: str = ""
    unique_ms: int = 0
    retries: int = QUEUE_DECIDES
    timeout_ms: int = 0
    title: str = ""
    after: tuple[int, ...] = ()
    after_counts: tuple[int, ...] = ()
    after_failures: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext(Event):
    """What is bound in the logs of a job's function: each value under its name."""

    names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsAddedMessage(Event):
    """Add jobs. ``topic_of`` is each job's place in ``topics``, ``context_of`` that in ``contexts``, if there are any.
    ``request`` is unique to them: added again, they are
    refused. With ``schedule``, they are its jobs for the tick ``tick_ms``, in milliseconds since the epoch, and unique
    by these two; they are refused unless ``schedule_set`` is the offset of the record that last set or resumed it.
    ``earlier`` are requests whose jobs some of these wait for. From the offset ``void_from`` on they are
    refused, unless that is -1.
    """

    request: str
    creator: str
    topics: tuple[str, ...]
    topic_of: tuple[int, ...]
    payloads: tuple[bytes, ...]
    options: tuple[JobOptions, ...] = ()
    schedule: str = ""
    tick_ms: int = 0
    earlier: tuple[str, ...] = ()
    void_from: int = -1
    schedule_set: int = -1
    contexts: tuple[JobContext, ...] = ()
    context_of: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsLeasedMessage(Event):
    """The dispatcher leases jobs to workers; ``worker_of`` is each job's place in ``workers``, their incarnations.

    The first message of a dispatcher has no jobs: what former dispatchers lease from then on is void. ``cluster_log``
    identifies the control topic, and ``epoch`` is that of the view in which the dispatcher began.
    ``read_to`` is the last record that the dispatcher had read, appended at ``read_ms``. The lease is void if there was
    another one since, or a queue was changed, or this log has no such record, as an older copy took its place.
    """

    cluster_log: str
    epoch: int
    dispatcher: str
    workers: tuple[str, ...] = ()
    worker_of: tuple[int, ...] = ()
    jobs: tuple[int, ...] = ()
    read_to: int = -1
    read_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd(Event):
    """What a worker says about the end of an attempt; ``job`` is its place in the batch. ``retry_ms`` is how long the
    retry waits at least; -1 leaves that to the queue.
    """

    job: int
    message: str = ""
    result: bytes = b""
    retry_ms: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsEndedMessage(Event):
    """Attempts have ended. Each counts only while the worker still has that lease: ``leases`` are the numbers of the
    records that leased the jobs.
    """

    worker: str
    jobs: tuple[int, ...]
    leases: tuple[int, ...]
    outcomes: tuple[int, ...]
    run_ms: tuple[int, ...]
    ends: tuple[JobEnd, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerMessage(Event):
    """A worker is ready to run ``slots`` jobs at a time, with topics that match its patterns; with no slots it takes
    none. ``instance`` and ``incarnation`` are those of the member that it belongs to, and ``member_epoch`` is the epoch
    of a view with it: a dispatcher with an older one cannot miss it. It runs no topics that match ``deny``, and only
    those of queues that demand none but its ``tags``. ``host`` is the name of its machine.
    """

    instance: str
    incarnation: str
    slots: int
    topics: tuple[str, ...] = ()
    member_epoch: int = -1
    host: str = ""
    deny: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGoneMessage(Event):
    """The worker has ended. What it had leased waits again; if a dispatcher says so, as crashed."""

    incarnation: str
    cluster_log: str = ""
    epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQueue(Event):
    """The settings of a queue, to which the jobs with a matching topic belong.

    Up to ``parallel`` of them run on each worker and ``cluster_parallel`` in all; 0 is no limit. A retry waits for
    ``delay_ms``, the next ones for ``growth_percent`` of that each, up to ``delay_max_ms``. ``retries`` of -1 is
    without end. A job that is running when ``crashes`` workers end is given up. In any ``rate_ms``, no more than
    ``rate`` of its jobs are leased; 0 is no limit. An attempt fails if it reports nothing for ``quiet_ms``. Workers
    need all ``tags``; with ``prefer_creator``, those on the host where the job was added are the first choice.
    """

    name: str
    topics: tuple[str, ...] = ()
    order: QueueOrder = QueueOrder.UNORDERED
    parallel: int = 0
    cluster_parallel: int = 0
    retries: int = 10
    delay_ms: int = 2000
    delay_max_ms: int = 3_600_000
    growth_percent: int = 200
    timeout_ms: int = 0
    ranking: int = 0
    retry_exceptions: bool = True
    prefer_creator: bool = False
    crashes: int = 5
    keep_ms: int = 3_600_000
    keep_failed_ms: int = 604_800_000
    rate: int = 0
    rate_ms: int = 1000
    quiet_ms: int = 0
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCommandMessage(Event):
    """A command, with its author and reason: stop, drop or forget jobs; suspend, resume, configure or remove a queue.

    A stopped job ends as soon as its code lets it, a dropped one at once. Forgotten jobs leave the history.
    """

    author: str = ""
    reason: str = ""
    stop: tuple[int, ...] = ()
    drop: tuple[int, ...] = ()
    suspend: str = ""
    resume: str = ""
    configure: JobQueue | None = None
    remove: str = ""
    forget: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleMessage(Event):
    """Add a job at each tick: whenever one of the ``cron`` expressions matches, in the time ``zone``; or every
    ``every_ms`` milliseconds from now on; or once, ``at_ms`` after the epoch.

    It replaces the schedule of this name, which stays suspended if it was; set to the same again, nothing changes. Of
    the ticks that have passed before anyone could add their jobs, the last ``catch_up`` are made up for. Of the
    ``options``, there is no due time.
    """

    name: str
    author: str = ""
    topic: str
    payload: bytes = b""
    options: JobOptions | None = None
    cron: tuple[str, ...] = ()
    every_ms: int = 0
    at_ms: int = 0
    zone: str = "UTC"
    catch_up: int = 1
    suspended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCommandMessage(Event):
    """A command, with its author and reason: suspend, resume or remove the schedule of this name. Ticks that pass while
    it is suspended are not missed, except the only one of ``at_ms``.
    """

    author: str = ""
    reason: str = ""
    suspend: str = ""
    resume: str = ""
    remove: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSnapshotMessage(Event):
    """A part of a snapshot of all jobs after the record at ``as_of``; it changes nothing. The last of the ``parts`` has
    their number, and the digest of all contents. ``log_id`` identifies the job topic.
    """

    log_id: str
    as_of: int
    writer: str
    part: int
    content: bytes
    parts: int = 0
    digest: bytes = b""


JOB_MESSAGES: tuple[type[Event], ...] = (
    JobsAddedMessage, JobsLeasedMessage, JobsEndedMessage, WorkerMessage, WorkerGoneMessage, JobCommandMessage,
    JobsProgressedMessage, ScheduleMessage, ScheduleCommandMessage, JobsSnapshotMessage,
)  # fmt: skip
"""Every message of the job topic."""
