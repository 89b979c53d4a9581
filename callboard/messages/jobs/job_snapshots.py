"""What a snapshot of the job topic contains: all that its readers know, so that newcomers need not read it all.

Lists are in columns: the i-th entry of ``due_ms`` is about the i-th of ``due_jobs``.
"""

from dataclasses import dataclass

from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import JobOptions, JobQueue, ScheduleMessage, WorkerMessage
from callboard.messages.jobs.progress_messages import JobProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRows(Event):
    """Some rows of the table of jobs, each column as packed bytes: see ``actors/jobs/snapshots/columns``."""

    rows: int
    columns: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJobs(Event):
    """Jobs that have ended and are kept for ``keep_ms`` from then on: a column of ids, in the order of their ends."""

    keep_ms: int
    jobs: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLeases(Event):
    """The jobs that a worker has leased, in that order, and the offsets of the records that leased them."""

    worker: str
    jobs: tuple[int, ...]
    leases: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState(Event):
    """A schedule as it was set; whether it is suspended, what its next tick follows, its last tick, and the offset of
    the record that set or resumed it.
    """

    message: ScheduleMessage
    suspended: bool = False
    base_ms: int = 0
    last_ms: int = 0
    set_at: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsState(Event):
    """All jobs after some record, or a part of them. ``lane_jobs`` are the jobs that others of the lane wait for, and
    ``key_jobs`` those that have a key, until they have ended and ``key_until_ms`` has come. ``rate_starts`` is how many
    jobs of ``rate_queues`` were started between two times; the tallies are those since ``since_ms``.
    ``present`` has the reports on jobs that run, ``past`` those on earlier attempts. ``recent`` are the offsets of the
    records since the last lease or change of a queue, and that one's own.
    """

    cluster_log: str = ""
    epoch: int = -1
    dispatcher: str = ""
    recent: tuple[int, ...] = ()
    queues: tuple[JobQueue, ...] = ()
    suspended: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    workers: tuple[WorkerMessage, ...] = ()
    leases: tuple[WorkerLeases, ...] = ()
    stopping: tuple[int, ...] = ()
    rows: tuple[JobRows, ...] = ()
    option_jobs: tuple[int, ...] = ()
    options: tuple[JobOptions, ...] = ()
    due_jobs: tuple[int, ...] = ()
    due_ms: tuple[int, ...] = ()
    lanes: tuple[str, ...] = ()
    lane_jobs: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    key_jobs: tuple[int, ...] = ()
    key_until_ms: tuple[int, ...] = ()
    history: tuple[KeptJobs, ...] = ()
    schedules: tuple[ScheduleState, ...] = ()
    requests: tuple[str, ...] = ()
    request_offsets: tuple[int, ...] = ()
    rate_queues: tuple[str, ...] = ()
    rate_first_ms: tuple[int, ...] = ()
    rate_last_ms: tuple[int, ...] = ()
    rate_starts: tuple[int, ...] = ()
    since_ms: int = 0
    topic_tallies: tuple[int, ...] = ()
    tally_workers: tuple[str, ...] = ()
    worker_tallies: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    creator_jobs: tuple[int, ...] = ()
    creators: tuple[str, ...] = ()
    saved_jobs: tuple[int, ...] = ()
    saved: tuple[bytes, ...] = ()
    present: tuple[JobProgress, ...] = ()
    past: tuple[JobProgress, ...] = ()
    recent_ms: tuple[int, ...] = ()
