"""What became of all jobs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from callboard.actors.jobs.tallies import Tally
from callboard.board.jobs.reading import JobReading
from callboard.messages.jobs.job_state import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFigures:
    """Figures of some jobs.

    Attributes:
        queued: that wait now.
        active: that run now.
        succeeded: and the other ends, since the first job was added, also of jobs that are forgotten.
        stopped: as ``succeeded``.
        given_up: as ``succeeded``.
        error: as ``succeeded``.
        dropped: as ``succeeded``.
        failed: attempts that have failed, also those that were the last.
        started: jobs whose first attempt has begun; of a worker, all attempts.
        waiting_ms: the mean time before the first attempt, from when the job could have begun; not of a worker.
        running_ms: the mean time of the attempts that succeeded.
    """

    queued: int
    active: int
    succeeded: int
    stopped: int
    given_up: int
    error: int
    dropped: int
    failed: int
    started: int
    waiting_ms: float
    running_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatistics:
    """The figures of all jobs since ``since_ms``, milliseconds since the epoch; 0 if there were none. Those of the
    latest 1000 workers are by instance, and have nothing queued.
    """

    since_ms: int
    total: JobFigures
    queues: Mapping[str, JobFigures]
    topics: Mapping[str, JobFigures]
    workers: Mapping[str, JobFigures]


def statistics(reading: JobReading) -> JobStatistics:
    """The figures of all that was read."""
    jobs = reading.jobs
    topics = {name: [number] for number, name in enumerate(jobs.topics)}
    running = Counter[str]()
    for name, leased in jobs.leased_to.items():
        running[jobs.workers[name].instance] += len(leased)
    workers = {name: (tally, 0, running[name]) for name, tally in jobs.tallies.workers.items()}
    return JobStatistics(
        since_ms=jobs.tallies.since_ms, total=_together(reading, range(len(jobs.topics))),
        queues={name: _together(reading, its) for name, its in sorted(reading.by_queue().items())},
        topics={name: _together(reading, its) for name, its in sorted(topics.items())},
        workers={name: _figures(*its) for name, its in sorted(workers.items())},
    )  # fmt: skip


def _together(reading: JobReading, topics: Sequence[int]) -> JobFigures:
    table, tally = reading.jobs.table, reading.jobs.tallies.together(topics)
    return _figures(tally, table.count(topics, JobState.QUEUED), table.count(topics, JobState.ACTIVE))


def _figures(tally: Tally, queued: int, active: int) -> JobFigures:
    return JobFigures(
        queued=queued, active=active, succeeded=tally.succeeded, stopped=tally.stopped, given_up=tally.given_up,
        error=tally.error, dropped=tally.dropped, failed=tally.failed, started=tally.started,
        waiting_ms=tally.waited_ms / max(1, tally.started), running_ms=tally.ran_ms / max(1, tally.succeeded),
    )  # fmt: skip
