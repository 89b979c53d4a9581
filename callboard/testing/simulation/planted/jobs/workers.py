"""Bugs in workers and their actors."""

from collections.abc import Awaitable
from typing import Any

from callboard.actors.jobs.worker.dispatcher import Dispatcher
from callboard.actors.jobs.worker.dispatching import Dispatching
from callboard.board.jobs.work import running
from callboard.board.jobs.work import worker as worker_module
from callboard.board.jobs.work.ending import SUCCEEDED, Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.slots import Slots
from callboard.board.jobs.work.worker import Worker
from callboard.messages.event import replaced
from callboard.messages.jobs.job_mail import LeasedJob, WorkerReport
from callboard.testing.simulation.planted.patch import Patch


async def _forgetful(right: Any, self: Worker, report: WorkerReport) -> None:
    await right(self, report)
    for job in report.ended.jobs if report.ended else ():
        self._known.pop(job, None)


def _blind(right: Any, self: Dispatching, now: Any) -> Any:
    self.told = replaced(self.told, members=tuple(self._jobs.workers))
    return right(self, now)


def _loses_plans(_: Any, self: Dispatching) -> None:
    self._planned, self._saying, self._offset = [], (), -1


def _deaf(right: Any, self: Dispatcher, message: Any, origin: Any, now: Any) -> Any:
    effects = list(right(self, message, origin, now))
    return [each for each in effects if getattr(each, "key", "") != "due"]


def _keeps_running(right: Any, self: Worker, work: Any) -> None:
    right(self, replaced(work, revoked=()))


async def _at_once(_: Any, work: Awaitable[Any], __: Any) -> Ending:
    await work
    return SUCCEEDED


async def _leaks(right: Any, self: Slots, leased: LeasedJob, its: RunningJob) -> None:
    await right(self, leased, its)
    self._free -= its.is_stopping


BUGS = (
    Patch("a worker forgets what it has reported", Worker, "_say", _forgetful),
    Patch("what is to end later ends at once", running, "finished", _at_once),
    Patch("jobs that are stopped keep their slots", Slots, "_run", _leaks),
    Patch("a worker tells of the cluster once", worker_module, "WAIT_MS", lambda _: 10**9),
    Patch("a worker keeps what was taken from it", Worker, "_take", _keeps_running),
    Patch("those that have left are not dismissed", Dispatching, "_messages", _blind),
    Patch("plans that failed are lost", Dispatching, "_end", _loses_plans),
    Patch("nothing is ever due", Dispatcher, "receive", _deaf),
)
