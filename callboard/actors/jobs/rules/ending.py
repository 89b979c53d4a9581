"""The rule for attempts that have ended."""

from collections.abc import Iterator

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.refusals import Refusal
from callboard.actors.jobs.tallies import Tally
from callboard.messages.jobs.job_messages import QUEUE_DECIDES, JobQueue, JobsEndedMessage, Outcome
from callboard.messages.jobs.job_state import JobState

JITTER_PERCENT = 10
"""Jobs that failed together are not tried again all at once."""

ATTEMPTS_MAX = 65_535
"""Attempts that are counted."""


ENDED = int(JobState.SUCCEEDED)  # which compares several times as fast


def end(jobs: Jobs, at: At, ended: JobsEndedMessage) -> Iterator[Refusal]:
    """Apply the outcomes of the jobs that the worker has still leased."""
    worker = jobs.workers.get(ended.worker)
    tally = jobs.tallies.worker(worker.instance) if worker else Tally()
    asked_ms = {end.job: end.retry_ms for end in ended.ends}
    for place, (job, lease, outcome) in enumerate(zip(ended.jobs, ended.leases, ended.outcomes, strict=True)):
        if jobs.leases.get(job) != ended.worker or jobs.leased_to[ended.worker][job] != lease:
            yield job, f"worker {ended.worker} has no such lease on it"
            continue
        row = jobs.table.find(job)
        queue = jobs.release(job, row)
        if outcome == Outcome.SUCCEEDED:
            jobs.end(job, row, JobState.SUCCEEDED, at)
            jobs.tallies.topic(jobs.table.topics[row]).ran_ms += ended.run_ms[place]
            tally.ran_ms += ended.run_ms[place]
        elif outcome == Outcome.RETURNED and job not in jobs.stopping:
            jobs.requeue(job, row)
        elif outcome == Outcome.FAILED and job not in jobs.stopping:
            _failed(jobs, at, job, row, queue, asked_ms.get(place, -1))
            jobs.tallies.topic(jobs.table.topics[row]).failed += 1
            tally.failed += 1
        else:
            jobs.end(job, row, JobState.STOPPED if job in jobs.stopping else JobState.ERROR, at)
        if (state := jobs.table.states[row]) >= ENDED:
            tally.ended(state)


def _failed(jobs: Jobs, at: At, job: int, row: int, queue: JobQueue, asked_ms: int) -> None:
    """Have the job wait for its retry, or give it up."""
    options = jobs.options.get(job)
    own = options.retries if options else QUEUE_DECIDES
    retries = queue.retries if own == QUEUE_DECIDES else own
    attempts = jobs.table.attempts[row] = min(jobs.table.attempts[row] + 1, ATTEMPTS_MAX)
    if 0 <= retries < attempts:
        jobs.end(job, row, JobState.GIVEN_UP, at)
    else:
        jobs.table.ended_at[row] = at.offset
        jobs.requeue(job, row, at.ms + (asked_ms if asked_ms >= 0 else retry_ms(queue, job, attempts)))


def retry_ms(queue: JobQueue, job: int, attempts: int) -> int:
    """Milliseconds before the next attempt, after this many. All readers compute the same, so the jitter
    comes from the job and the attempt.
    """
    delay_ms = queue.delay_ms
    for _ in range(attempts - 1):
        if delay_ms >= queue.delay_max_ms or queue.growth_percent <= 100:
            break
        delay_ms = delay_ms * queue.growth_percent // 100
    delay_ms = min(delay_ms, queue.delay_max_ms)
    jitter_percent = (job * 2_654_435_761 + attempts * 40_503 >> 8) % (JITTER_PERCENT + 1)
    return delay_ms + delay_ms * jitter_percent // 100
