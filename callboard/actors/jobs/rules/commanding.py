"""The rule for commands."""

from collections.abc import Iterator

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.refusals import Refusal
from callboard.messages.jobs.job_messages import JobCommandMessage
from callboard.messages.jobs.job_state import JobState


def command(jobs: Jobs, at: At, said: JobCommandMessage) -> Iterator[Refusal]:
    """Carry out the command."""
    for job in (*said.stop, *said.drop):
        if not jobs.is_open(job):
            yield job, "it has ended, or is unknown"
    for job in filter(jobs.is_open, said.stop):
        _stop(jobs, at, job)
    for job in filter(jobs.is_open, said.drop):
        row = jobs.table.find(job)
        if job in jobs.leases:
            jobs.release(job, row)
        jobs.end(job, row, JobState.DROPPED, at)
    for job in said.forget:
        if jobs.state_of(job) is None or jobs.is_open(job):
            yield job, "it has not ended, or is unknown"
        else:
            jobs.table.forget(jobs.table.find(job))
    jobs.queues.suspended.discard(said.resume)
    if said.suspend:
        jobs.queues.suspended.add(said.suspend)
    if said.configure is not None:
        jobs.queues.configure(said.configure)
    if said.configure is not None or said.remove:
        jobs.queues.remove(said.remove)
        jobs.reconfigured()
    if said.configure is not None or said.remove or said.suspend:
        jobs.recent.clear()  # so that a lease is void that was planned by the former settings


def _stop(jobs: Jobs, at: At, job: int) -> None:
    """A queued job ends, a leased one is to stop."""
    if job in jobs.leases:
        jobs.stopping.add(job)
    else:
        jobs.end(job, jobs.table.find(job), JobState.STOPPED, at)
