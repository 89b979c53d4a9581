"""The rule for what workers report on the jobs that they run."""

from collections.abc import Iterator

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.refusals import Refusal
from callboard.messages.jobs.progress_messages import JobsProgressedMessage


def report(jobs: Jobs, _: At, said: JobsProgressedMessage) -> Iterator[Refusal]:
    """Take in the reports on jobs that the worker has still leased."""
    for its in said.progress:
        if jobs.leases.get(its.job) != said.worker or jobs.leased_to[said.worker][its.job] != its.lease:
            yield its.job, f"worker {said.worker} has no such lease on it"
        elif not jobs.reports.add(its):
            yield its.job, "this or a later report on it is known"
