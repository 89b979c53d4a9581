"""What would happen to a job."""

from dataclasses import dataclass

from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.reading import JobReading


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """What would happen to a job that is not added.

    Attributes:
        topic: of the job.
        refused: why it would not be added; empty if it would.
        same: the job that has its key, and would be returned; -1 if none has.
        queue: that it would belong to.
        suspended: whether that starts no jobs.
        parallel: how many of the queue run at a time on each worker; 0 is no limit.
        cluster_parallel: and in all.
        rate: how many are started within ``rate_s``; 0 is no limit.
        rate_s: seconds.
        retries: how often the job would be tried again; -1 for ever.
        timeout_s: seconds that an attempt may take; 0 is no limit.
        workers: the instances that run its topic now.
        waits_for: how many of the jobs before it have not ended.
    """

    topic: str
    refused: str = ""
    same: int = -1
    queue: str = ""
    suspended: bool = False
    parallel: int = 0
    cluster_parallel: int = 0
    rate: int = 0
    rate_s: float = 0.0
    retries: int = 0
    timeout_s: float = 0.0
    workers: tuple[str, ...] = ()
    waits_for: int = 0


def job_plan(reading: JobReading, new: NewJob) -> JobPlan:
    """What would happen to the job now."""
    jobs = reading.jobs
    queue = jobs.queues.of(new.topic)
    same = jobs.unique.job(new.unique, 0) if new.unique else None
    return JobPlan(
        topic=new.topic, same=-1 if same is None else same, queue=queue.name,
        suspended=queue.name in jobs.queues.suspended, parallel=queue.parallel,
        cluster_parallel=queue.cluster_parallel, rate=queue.rate, rate_s=queue.rate_ms / 1000,
        retries=queue.retries if new.retries is None else new.retries,
        timeout_s=new.timeout_s or queue.timeout_ms / 1000,
        workers=tuple(its.instance for its in jobs.workers.values() if its.slots and its.can_run(new.topic, queue)),
        waits_for=sum(jobs.is_open(job) for job in new.known),
    )  # fmt: skip
