"""The rules for leases and for the workers that have them."""

from collections.abc import Iterator

from callboard.actors.jobs.jobs import At, Fence, Jobs, Worker
from callboard.actors.jobs.rules.refusals import WHOLE, Refusal
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
        jobs.rates.set_back(at.ms)
    if leased.jobs and jobs.recent.get(leased.read_to) != leased.read_ms:  # by former limits or lanes, or another log
        yield WHOLE, f"it was planned by a log that ended with another record, at offset {leased.read_to}"
        return
    jobs.recent.clear()
    topics, begun = set[int](), [0] * len(leased.workers)
    for job, place in zip(leased.jobs, leased.worker_of, strict=True):
        worker, row = leased.workers[place], jobs.table.find(job)
        if row < 0 or jobs.table.states[row] != JobState.QUEUED:
            yield job, "it is not queued"
        elif job in jobs.flows:
            yield job, "it waits for other jobs"
        elif worker not in jobs.workers:
            yield job, f"worker {worker} has gone"
        elif (queue := jobs.queue_of(jobs.table.topics[row])).rate and not jobs.rates.start(queue, at.ms):
            yield job, f"queue {queue.name} has had its starts"
        else:
            jobs.lease(job, row, worker, at)
            begun[place] += 1
            topics.add(jobs.table.topics[row])
    for worker, many in zip(leased.workers, begun, strict=True):
        if many:
            jobs.tallies.worker(jobs.workers[worker].instance).started += many
    jobs.waiting.trim(topics)


def welcome(jobs: Jobs, _: At, said: WorkerMessage) -> Iterator[Refusal]:
    """Know the worker, or what it says of itself now."""
    jobs.workers[said.incarnation] = Worker(
        said.instance, said.slots, said.topics, said.member_epoch, said.host, said.deny, said.tags
    )
    yield from ()


def dismiss(jobs: Jobs, at: At, gone: WorkerGoneMessage) -> Iterator[Refusal]:
    """Forget the worker. Its jobs wait again, unless too many workers have crashed with them.

    A crash counts for the jobs of which the log has that they were running. Others may have ended, or not begun: they
    are suspects, which are only run once the log has that they are.
    """
    crashed = bool(gone.cluster_log)
    if crashed and (gone.cluster_log, gone.epoch) != jobs.fence[:2]:
        yield WHOLE, f"{jobs.fence.dispatcher or 'nobody'} dispatches, since epoch {jobs.fence.epoch}"
        return
    jobs.workers.pop(gone.incarnation, None)
    for job in sorted(jobs.leased_to.get(gone.incarnation, ())):
        row, begun = jobs.table.find(job), job in jobs.reports.present
        queue = jobs.release(job, row)
        crashes = jobs.table.crashes[row] = min(jobs.table.crashes[row] + (crashed and begun), CRASHES_MAX)
        if crashed:
            jobs.suspects.add(job)
        if job in jobs.stopping:
            jobs.end(job, row, JobState.STOPPED, at)
        elif crashes >= queue.crashes:
            jobs.end(job, row, JobState.GIVEN_UP, at)
        else:
            jobs.requeue(job, row)
