"""Workers in virtual time: under all faults, jobs end once, and limits and lanes hold.

More seeds: ``CALLBOARD_SEEDS=0:500``. Replay one with ``CALLBOARD_SEEDS=17``.
"""

import os
from collections.abc import Iterable
from typing import Any

import pytest

from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Moment, Origin
from callboard.actors.core.effects import Append
from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.worker import dispatching
from callboard.actors.jobs.worker.dispatcher import DUE, Dispatcher
from callboard.actors.jobs.worker.dispatching import Dispatching
from callboard.actors.jobs.worker.reporter import Reporter
from callboard.board.jobs import worker as worker_module
from callboard.board.jobs.worker import Worker
from callboard.messages.event import Event, replaced
from callboard.messages.jobs.job_mail import WorkerReport
from callboard.messages.jobs.job_messages import JobsLeasedMessage
from tests.simulation.jobs.history import CALM_S, History, outcome

FIRST, _, END = os.environ.get("CALLBOARD_SEEDS", "0:6").partition(":")
SEEDS = range(int(FIRST), int(END or int(FIRST) + 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_all_jobs_end_once_whatever_happens_to_the_workers(seed: int) -> None:
    assert not outcome(seed)


def test_workers_go_on_when_the_topic_of_jobs_was_replaced() -> None:
    history = History(1)
    fleet = history.fleet
    try:
        for name in "xy":
            fleet.start(name, 2)
        for _ in range(10):
            history.add()
        fleet.simulation.run_for(0.5)
        assert not fleet.simulation.run(history.all_ended())

        fleet.replace_topic()
        history.forget()
        fleet.simulation.run_for(30)
        history.add()
        fleet.simulation.run_until(history.all_ended, CALM_S)
        assert not fleet.failures()
    finally:
        fleet.close()


# Planted bugs.

Plant = pytest.MonkeyPatch


def leases_by_an_old_plan(plant: Plant) -> None:
    def old(**its: Any) -> JobsLeasedMessage:
        return JobsLeasedMessage(**its | {"read_to": 1 << 60} if "jobs" in its else its)

    plant.setattr(dispatching, "JobsLeasedMessage", old)


def forgets_what_it_has_reported(plant: Plant) -> None:
    say = Worker._say

    async def forgetful(self: Worker, report: WorkerReport) -> None:
        await say(self, report)
        for job in report.ended.jobs if report.ended else ():
            self._known.pop(job, None)

    plant.setattr(Worker, "_say", forgetful)


def is_told_of_the_cluster_once(plant: Plant) -> None:
    plant.setattr(worker_module, "WAIT_MS", 10**9)


def keeps_those_that_have_left(plant: Plant) -> None:
    messages = Dispatching._messages

    def blind(self: Dispatching, now: Moment) -> tuple[Event, ...]:
        self.told = replaced(self.told, members=tuple(self._jobs.workers))
        return messages(self, now)

    plant.setattr(Dispatching, "_messages", blind)


def forgets_plans_that_failed(plant: Plant) -> None:
    def end(self: Dispatching) -> None:
        self._planned, self._saying, self._offset = [], (), -1

    plant.setattr(Dispatching, "_end", end)


def wakes_without_end(plant: Plant) -> None:
    dispatch = Dispatcher._dispatch

    def restless(self: Dispatcher, now: Moment) -> Iterable[Effect]:
        yield from dispatch(self, now)
        if self._jobs.waiting.next_due_ms is not None:
            yield After(DUE, 0.0)

    plant.setattr(Dispatcher, "_dispatch", restless)


def drops_reports_that_failed(plant: Plant) -> None:
    receive = Reporter.receive

    def careless(self: Reporter, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Failed(Append() as effect):
                message = Done(effect, (1,))
        return receive(self, message, origin, now)

    plant.setattr(Reporter, "receive", careless)


def knows_no_order(plant: Plant) -> None:
    plant.setattr(Jobs, "lane_of", lambda *_: "")


def counts_nothing(plant: Plant) -> None:
    def count(*_: Any) -> None:
        pass

    plant.setattr(Jobs, "_count", count)


@pytest.mark.parametrize(
    ("bug", "seeds"),
    [
        (leases_by_an_old_plan, range(60, 80)),
        (forgets_what_it_has_reported, range(10, 20)),
        (is_told_of_the_cluster_once, range(10)),
        (keeps_those_that_have_left, range(10)),
        (forgets_plans_that_failed, range(10)),
        (wakes_without_end, range(10)),
        (drops_reports_that_failed, range(10)),
        (knows_no_order, range(10)),
        (counts_nothing, range(10)),
    ],
)
def test_a_planted_bug_is_found(bug: Any, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert any(outcome(seed) for seed in seeds)
