"""Bugs in the fold over the job topic."""

from typing import Any

from callboard.actors.jobs.jobs import At, Fence, Jobs
from callboard.actors.jobs.reports import Reports
from callboard.actors.jobs.rules import adding, commanding, reducer
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobsEndedMessage, JobsLeasedMessage
from callboard.testing.simulation.planted.patch import Patch


def _any_plan(rules: Any) -> Any:
    def lease(jobs: Jobs, at: At, said: JobsLeasedMessage) -> Any:
        jobs.recent[said.read_to] = said.read_ms
        return rules[JobsLeasedMessage](jobs, at, said)

    return {**rules, JobsLeasedMessage: lease}


def _any_log(rules: Any) -> Any:
    def lease(jobs: Jobs, at: At, said: JobsLeasedMessage) -> Any:
        read_ms = jobs.recent.get(said.read_to, said.read_ms)
        return rules[JobsLeasedMessage](jobs, at, replaced(said, read_ms=read_ms))

    return {**rules, JobsLeasedMessage: lease}


def _any_dispatcher(rules: Any) -> Any:
    def lease(jobs: Jobs, at: Any, said: JobsLeasedMessage) -> Any:
        jobs.fence = Fence(said.cluster_log, said.epoch, said.dispatcher)
        return rules[JobsLeasedMessage](jobs, at, said)

    return {**rules, JobsLeasedMessage: lease}


def _late(rules: Any) -> Any:
    def end(jobs: Jobs, at: Any, said: JobsEndedMessage) -> Any:
        leases = tuple(jobs.leased_to.get(said.worker, {}).get(job, lease)
                       for job, lease in zip(said.jobs, said.leases, strict=True))  # fmt: skip
        return rules[JobsEndedMessage](jobs, at, replaced(said, leases=leases))

    return {**rules, JobsEndedMessage: end}


def _loses(right: Any, self: Reports, job: int) -> None:
    right(self, job)
    self.saved.pop(job, None)


def _keeps(right: Any, self: Jobs, job: int, *rest: Any) -> None:
    saved = self.reports.saved.get(job, b"")
    right(self, job, *rest)
    if saved:
        self.reports.saved[job] = saved


BUGS = (
    Patch("leases by an old plan count", reducer, "RULES", _any_plan),
    Patch("leases count that were planned on another log", reducer, "RULES", _any_log),
    Patch("former dispatchers lease", reducer, "RULES", _any_dispatcher),
    Patch("outcomes of former leases count", reducer, "RULES", _late),
    Patch("what is added again counts", adding, "_requested", lambda *_: iter(())),
    Patch("what was saved is lost with the attempt", Reports, "released", _loses),
    Patch("what was saved is kept for ever", Jobs, "_end", _keeps),
    Patch("commands stop no job that runs", commanding, "_stop", lambda *_: None),
)  # fmt: skip
