"""The rules for leases and for the workers that have them."""

from collections.abc import Iterator

from callboard.actors.jobs.jobs import At, Fence, Jobs, Worker
from callboard.actors.jobs.refusals import WHOLE, Refusal
from callboard.messages.jobs.job_messages import JobsLeasedMessage, WorkerGoneMessage, WorkerMessage
from callboard.messages.jobs.job_state import JobState

CRASHES_MAX = 255


def lease(jobs: Jobs, at: At, leased: JobsLeasedMessage) -> Iterator[Refusal]:
    """Lease the jobs, if the present dispatcher says so; a later one replaces it by a message without jobs."""
    claim = Fence(leased.cluster_log, leased.epoch, leased.dispatcher)
    if claim != jobs.fence:
        if leased.jobs or (claim.cluster_log == jobs.fence.cluster_log and claim[:2] <= jobs.fence[:2]):
            yield WHOLE, f"{jobs.fence.dispatcher or 'nobody'} dispatches, since epoch {jobs.fence.epoch}"
            return
        jobs.fence = claim
    if leased.jobs and leased.read_to < jobs.leased_at:  # it would lease beyond the limits, or beside another of a lane
        yield WHOLE, f"it was planned before the lease at offset {jobs.leased_at}"
        return
    jobs.leased_at = at.offset
    topics = set[int]()
    for job, place in zip(leased.jobs, leased.worker_of, strict=True):
        worker, row = leased.workers[place], jobs.table.find(job)
        if row < 0 or jobs.table.states[row] != JobState.QUEUED:
            yield job, "it is not queued"
        elif worker not in jobs.workers:
            yield job, f"worker {worker} has gone"
        else:
            jobs.lease(job, row, worker, at.offset)
            topics.add(jobs.table.topics[row])
    jobs.waiting.trim(topics)


def welcome(jobs: Jobs, _: At, said: WorkerMessage) -> Iterator[Refusal]:
    """Know the worker, or what it says of itself now."""
    jobs.workers[said.incarnation] = Worker(said.instance, said.slots, said.topics, said.member_epoch)
    yield from ()


def dismiss(jobs: Jobs, at: At, gone: WorkerGoneMessage) -> Iterator[Refusal]:
    """Forget the worker. Its jobs wait again, unless too many workers have crashed with them."""
    crashed = bool(gone.cluster_log)
    if crashed and (gone.cluster_log, gone.epoch) != jobs.fence[:2]:
        yield WHOLE, f"{jobs.fence.dispatcher or 'nobody'} dispatches, since epoch {jobs.fence.epoch}"
        return
    jobs.workers.pop(gone.incarnation, None)
    for job in sorted(jobs.leased_to.get(gone.incarnation, ())):
        row = jobs.table.find(job)
        queue = jobs.release(job, row)
        crashes = jobs.table.crashes[row] = min(jobs.table.crashes[row] + crashed, CRASHES_MAX)
        if job in jobs.stopping:
            jobs.end(job, row, JobState.STOPPED, at)
        elif crashes >= queue.crashes:
            jobs.end(job, row, JobState.GIVEN_UP, at)
        else:
            jobs.requeue(job, row)
