"""Bugs in what is known of waiting jobs, and in what is planned by that."""

from collections import Counter
from typing import Any

from callboard.actors.jobs import planning
from callboard.actors.jobs.flows import Flows
from callboard.actors.jobs.jobs import Jobs, Worker
from callboard.actors.jobs.keys import UniqueKeys
from callboard.actors.jobs.rates import Rates
from callboard.actors.jobs.schedules import ticker
from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.actors.jobs.topics import runs
from callboard.actors.jobs.waiting import Waiting
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobQueue, QueueOrder
from callboard.testing.simulation.planted.patch import Patch


def _on_time(right: Any, its: Schedule, now_ms: int) -> Any:
    return () if 0 < its.message.at_ms < now_ms - 2000 else right(its, now_ms)


def _runs_all(_: Any, self: Worker, topic: str, __: JobQueue) -> bool:
    return runs(self.topics, topic)


def _oldest(right: Any, self: Any, queue: Any, job: int, topic: int) -> Any:
    return right(self, replaced(queue, order=QueueOrder.UNORDERED), job, topic)


def _urgency(_: Any, self: Waiting) -> list[int]:
    return sorted(self._lines)


def _forgetful(right: Any, self: UniqueKeys, key: str, job: int, _: int) -> None:
    right(self, key, job, 0)


BUGS = (
    Patch("running jobs are not counted", Jobs, "running_of", lambda *_: Counter()),
    Patch("there is no order", Jobs, "lane_of", lambda *_: ""),
    Patch("jobs of lanes do not wait", Waiting, "_lane", lambda *_: ""),
    Patch("topics do not take turns", planning.Planner, "_key", _oldest),
    Patch("the least urgent come first", Waiting, "priorities", _urgency),
    Patch("keys are free when their jobs have ended", UniqueKeys, "give", _forgetful),
    Patch("ticks are never late enough to be missed", ticker, "_ticks",
          lambda right, its, now_ms: right(its, now_ms)[-1:]),
    Patch("single ticks that are late are missed", ticker, "_ticks", _on_time),
    Patch("jobs do not wait for others", Flows, "enter", lambda *_: True),
    Patch("jobs run after failures", Flows, "ended", lambda right, self, job, **_: right(self, job, succeeded=True)),
    Patch("newcomers forget what jobs wait for", Flows, "begin", lambda *_: None),
    Patch("all may start at once", Rates, "left", lambda *its: its[2].rate),
    Patch("newcomers forget what was started", Rates, "begin", lambda *_: None),
    Patch("workers get what they deny", Worker, "can_run", _runs_all),
)  # fmt: skip
