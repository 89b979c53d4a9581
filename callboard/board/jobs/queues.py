"""Queues: their settings, and what is in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypedDict

from callboard.board.jobs.reading import JobReading
from callboard.messages.jobs.job_messages import JobQueue, QueueOrder
from callboard.messages.jobs.job_state import ENDED, JobState


class QueueSettings(TypedDict, total=False):
    """The settings of a queue besides name and topics, with the meaning and the defaults of ``QueueOptions``."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOptions:
    """The settings of a queue.

    Args:
        name: of the queue; ``{0}`` in it stands for what a pattern matched, so each has a queue of its own.
        topics: topics and patterns of topics.
        order: ``unordered``, the oldest first; ``ordered``, one after another in the whole cluster; or
            ``topic_round_robin``.
        parallel: how many run at a time on each worker; 0 is no limit.
        cluster_parallel: how many run at a time in all; 0 is no limit.
        retries: how often a job that failed is tried again; -1 for ever.
        delay_s: seconds before the first retry.
        delay_max_s: and at most before any.
        growth: how many times as long each retry waits as the one before.
        timeout_s: seconds that an attempt may take; 0 is no limit.
        ranking: of several queues that match, the one with the highest is taken, then the one configured first.
        retry_exceptions: whether a job that raises is tried again.
        crashes: workers that may crash while they run a job, before it is given up.
        rate: how many are started within any ``rate_s`` by all workers together, by the time of the log; 0 is no limit.
        rate_s: seconds, up to a day.
        keep_s: seconds that a job is kept after it has succeeded.
        keep_failed_s: seconds that it is kept after any other end.
        quiet_s: seconds after which a job has failed that reports no progress; 0 is no limit.
        prefer_creator: whether a job runs on the host that added it, if a worker has a free slot there.
        tags: that a worker needs, all of them.
    """

    name: str
    topics: tuple[str, ...]
    order: QueueOrder = QueueOrder.UNORDERED
    parallel: int = 0
    cluster_parallel: int = 0
    retries: int = 10
    delay_s: float = 2.0
    delay_max_s: float = 3600.0
    growth: float = 2.0
    timeout_s: float = 0.0
    ranking: int = 0
    retry_exceptions: bool = True
    crashes: int = 5
    rate: int = 0
    rate_s: float = 1.0
    keep_s: float = 3600.0
    keep_failed_s: float = 604_800.0
    quiet_s: float = 0.0
    prefer_creator: bool = False
    tags: tuple[str, ...] = ()


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


def queue_settings(its: QueueOptions) -> JobQueue:
    """The settings as a message."""
    return JobQueue(
        name=its.name, topics=its.topics, order=its.order, parallel=its.parallel, cluster_parallel=its.cluster_parallel,
        retries=its.retries, delay_ms=round(its.delay_s * 1000), delay_max_ms=round(its.delay_max_s * 1000),
        growth_percent=round(its.growth * 100), timeout_ms=round(its.timeout_s * 1000), ranking=its.ranking,
        retry_exceptions=its.retry_exceptions, crashes=its.crashes, rate=its.rate, rate_ms=round(its.rate_s * 1000),
        keep_ms=round(its.keep_s * 1000), keep_failed_ms=round(its.keep_failed_s * 1000),
        quiet_ms=round(its.quiet_s * 1000), prefer_creator=its.prefer_creator, tags=its.tags,
    )  # fmt: skip


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
