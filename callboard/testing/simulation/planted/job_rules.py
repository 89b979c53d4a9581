"""Bugs in the fold over the job topic."""

from collections import Counter
from typing import Any

from callboard.actors.jobs import planning
from callboard.actors.jobs.jobs import At, Fence, Jobs
from callboard.actors.jobs.keys import UniqueKeys
from callboard.actors.jobs.rules import adding, commanding, reducer
from callboard.actors.jobs.schedules import ticker
from callboard.actors.jobs.waiting import Waiting
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobsEndedMessage, JobsLeasedMessage, QueueOrder
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


def _oldest(right: Any, self: Any, queue: Any, job: int, topic: int) -> Any:
    return right(self, replaced(queue, order=QueueOrder.UNORDERED), job, topic)


def _urgency(_: Any, self: Waiting) -> list[int]:
    return sorted(self._lines)


def _forgetful(right: Any, self: UniqueKeys, key: str, job: int, _: int) -> None:
    right(self, key, job, 0)


BUGS = (
    Patch("leases by an old plan count", reducer, "RULES", _any_plan),
    Patch("leases count that were planned on another log", reducer, "RULES", _any_log),
    Patch("former dispatchers lease", reducer, "RULES", _any_dispatcher),
    Patch("outcomes of former leases count", reducer, "RULES", _late),
    Patch("running jobs are not counted", Jobs, "running_of", lambda *_: Counter()),
    Patch("there is no order", Jobs, "lane_of", lambda *_: ""),
    Patch("jobs of lanes do not wait", Waiting, "_lane", lambda *_: ""),
    Patch("topics do not take turns", planning.Planner, "_key", _oldest),
    Patch("the least urgent come first", Waiting, "priorities", _urgency),
    Patch("keys are free when their jobs have ended", UniqueKeys, "give", _forgetful),
    Patch("what is added again counts", adding, "_requested", lambda *_: iter(())),
    Patch("commands stop no job that runs", commanding, "_stop", lambda *_: None),
    Patch("ticks are never late enough to be missed", ticker, "_ticks",
          lambda right, its, now_ms: right(its, now_ms)[-1:]),
)  # fmt: skip
