"""Queues: their settings, and what is in them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from callboard.board.jobs.reading import JobReading
from callboard.door.names import meant
from callboard.errors import RequestRefused
from callboard.messages.jobs.job_messages import JobQueue, QueueOrder
from callboard.messages.jobs.job_state import ENDED, JobState


class QueueSettings(TypedDict, total=False):
    """The settings of a queue besides name and topics; those that are left out have their defaults.

    Args:
        order: ``unordered``, the oldest first, is the default; ``ordered``, one after another in the whole cluster; or
            ``topic_round_robin``.
        parallel: how many run at a time on each worker; 0, the default, is no limit.
        cluster_parallel: how many run at a time in all; 0, the default, is no limit.
        retries: how often a job that failed is tried again, 10 by default; -1 is no limit.
        delay_s: seconds before the first retry, 2 by default.
        delay_max_s: and at most before any, 3600 by default.
        growth: how many times as long each retry waits as the one before, 2 by default.
        timeout_s: seconds that an attempt may take; 0, the default, is no limit.
        ranking: of several queues that match, the one with the highest is taken, then the one configured first.
        retry_exceptions: whether a job that raises is tried again, which is the default.
        crashes: workers that may crash while they run a job, before it is given up; 5 by default.
        rate: how many are started within any ``rate_s`` by all workers together, by the time of the log; 0, the
            default, is no limit.
        rate_s: seconds, 1 by default, up to a day.
        keep_s: seconds that a job is kept after it has succeeded, an hour by default.
        keep_failed_s: seconds that it is kept after any other end, a week by default.
        quiet_s: seconds without a report of progress after which a job has failed; 0, the default, is no limit.
        prefer_creator: whether a job runs on the host that added it, if a worker has a free slot there.
        tags: that a worker needs, all of them.
    """

    order: QueueOrder | Literal["unordered", "ordered", "topic_round_robin"]
    parallel: int
    cluster_parallel: int
    retries: int
    delay_s: float
    delay_max_s: float
    growth: float
    timeout_s: float
    ranking: int
    retry_exceptions: bool
    crashes: int
    rate: int
    rate_s: float
    keep_s: float
    keep_failed_s: float
    quiet_s: float
    prefer_creator: bool
    tags: Iterable[str]


COMPAT: QueueSettings = {"parallel": 15, "retries": 10, "delay_s": 2.0, "growth": 1.0, "retry_exceptions": False}
"""How the queues of Apache Sling run jobs by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """What is in a queue; ``queued`` includes those that wait for a time, and ``parked``, which no worker runs."""

    name: str
    queued: int
    active: int
    parked: int
    ended: int
    suspended: bool
    topics: tuple[str, ...]


def queue_settings(given: Mapping[str, Any]) -> JobQueue:
    """The settings, which were checked, as a message."""
    return JobQueue(**dict(map(_field, given, given.values())))


def _field(name: str, value: Any) -> tuple[str, Any]:
    """The name and the value in the message."""
    if name.endswith("_s"):
        return f"{name.removesuffix('_s')}_ms", round(value * 1000)
    return ("growth_percent", round(value * 100)) if name == "growth" else (name, value)


def demand_queue(reading: JobReading, queue: str) -> None:
    """Raise ``RequestRefused`` for a queue that is neither configured nor has had jobs."""
    if queue not in (known := {*reading.jobs.queues.names, *reading.by_queue()}):
        then = meant(queue, known, "see `callboard jobs queues`")
        raise RequestRefused(f"no queue {queue!r} is configured or has had jobs; {then}", code="not_found")


def demand_configured(reading: JobReading, queue: str) -> None:
    """Raise ``RequestRefused`` for a queue that is not configured."""
    if queue not in (known := [each.name for each in reading.jobs.queues.configured]):
        then = meant(queue, known, f"these are: {', '.join(known)}" if known else "none is")
        raise RequestRefused(f"no queue {queue!r} is configured; {then}", code="not_found")


def queue_states(reading: JobReading) -> tuple[QueueState, ...]:
    """All queues that are configured or have had jobs, by name."""
    jobs, table = reading.jobs, reading.jobs.table
    topics: dict[str, list[int]] = {**{name: [] for name in jobs.queues.names}, **reading.by_queue()}
    return tuple(
        QueueState(
            name=name, queued=table.count(its, JobState.QUEUED), active=table.count(its, JobState.ACTIVE),
            parked=reading.parked(its).total(), ended=table.count(its, *ENDED),
            suspended=name in jobs.queues.suspended, topics=tuple(jobs.topics[number] for number in its),
        )
        for name, its in sorted(topics.items())
    )  # fmt: skip
