"""A simulated host, and the worker that runs on it."""

import asyncio
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from callboard.actors.core.agent import Agent, Clock
from callboard.actors.core.decision import Moment, Perform
from callboard.actors.core.effects import Append
from callboard.actors.jobs.worker import WorkerSettings
from callboard.actors.jobs.worker.dispatcher import Dispatcher
from callboard.backends.log import Log
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.worker import Worker
from callboard.errors import CancelJob, LogUnavailable, RetryJob
from callboard.messages.record import Record
from callboard.testing.simulation.jobs.acts import Join
from callboard.testing.simulation.jobs.digest import digest
from callboard.testing.simulation.topology.cluster import FaultyWorld

ROWS_MAX = 500
"""The state of more jobs takes too long to compare."""


class Host(FaultyWorld):
    """A host: its clock, its way to the log, on which appends may be lost or late, and its place in the cluster.

    It stands in for ``Member`` and ``Attendance``, and for the agent of its worker, which may be suspended.
    """

    def __init__(self, log: Log, clock: Clock, rng: Random, its: Join) -> None:
        super().__init__(log)
        self.its, self.instance, self.incarnation, self.slots = its, its.worker, "", its.slots
        self.lossy = self.skewed_s = self.awake_s = self.blind_s = 0.0
        self.running = 0
        self.changed, self.has_ended = asyncio.Event(), False
        self.cluster, self.news = SimpleNamespace(view=None), SimpleNamespace(problem="")
        self.standing = True
        self.attendance = self.settings = self
        self.agent: Agent
        self._clock, self._rng = clock, rng

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        if not isinstance(effect, Append) or self._rng.random() >= self.lossy:
            return await super().perform(effect)
        match self._rng.randrange(3):
            case 0:
                await super().perform(effect)
            case 1:
                self._repeating.add(asyncio.ensure_future(self._repeat(effect, self._rng.choice([0.05, 0.5, 5.0]))))
        raise LogUnavailable("whether it was appended is unknown")

    def now(self) -> Moment:
        """See ``Clock``."""
        wall_ns, mono_s = self._clock.now()
        return Moment(wall_ns + int(self.skewed_s * 1e9), mono_s)

    def show(self, view: Any) -> None:
        """This is the view of the cluster now."""
        self.cluster.view = view
        before, self.changed = self.changed, asyncio.Event()
        before.set()

    async def awake(self) -> None:
        """Wait until the process goes on."""
        if (left_s := self.awake_s - self._clock.now().mono_s) > 0:
            await asyncio.sleep(left_s)
            await self.awake()

    async def ask(self, role: str, question: Any, timeout_s: float) -> Any:
        """See ``Agent``."""
        await self.awake()
        answer = await self.agent.ask(role, question, timeout_s)
        await self.awake()
        return answer

    async def work(self, payload: dict[str, Any], job: RunningJob) -> None:
        """Do the work of a job. Raises ``RetryJob`` and ``CancelJob`` if it is to fail."""
        await asyncio.sleep(payload["run_s"] / 2)
        await self.awake()
        if "cancels" in payload:  # the jobs of a plan, not those of tests, also report
            job.progress(1)
            job.step()
            job.save(job.lease)
        await asyncio.sleep(payload["run_s"] / 2)
        await self.awake()
        if job.attempt <= payload["fails"]:
            raise RetryJob("not yet", delay_s=payload["delay_s"])
        if payload.get("cancels"):
            raise CancelJob("never")

    async def start(self) -> None:
        """See ``Member``."""

    settled = start

    async def ended(self) -> None:
        """See ``Member``."""
        await asyncio.Event().wait()

    async def stop(self, drain_s: float = -1.0) -> None:
        """See ``Member`` and ``Agent``."""
        if drain_s >= 0:
            self.has_ended = True
            await self.agent.stop(drain_s)


class SimulatedWorker(Worker):
    """A worker whose process can end at once."""

    def crash(self) -> None:
        """End without a word."""
        self._slots.close()
        for task in filter(None, (*self._work, *self._tasks.values())):
            task.cancel()

    @property
    def runs_all(self) -> bool:
        """Whether there is no topic that it does not run."""
        return "**" in self._handlers.patterns and bool(self._tags) and not self._deny

    @property
    def is_idle(self) -> bool:
        """Whether it has no jobs, and all its slots are free."""
        return not self._known and not self._tasks and self._slots._free == self._slots.many  # noqa: SLF001

    @property
    def failures(self) -> list[str]:
        """What has ended that should not have."""
        return [repr(task) for task in self._work if task.done()]


class Reader(Dispatcher):
    """A dispatcher that tells what jobs it knows after each record."""

    def __init__(self, tell: Callable[[Record, str], None], settings: WorkerSettings, rng: Random) -> None:
        super().__init__(settings, rng)
        self._tell_state = tell

    def _see(self, record: Record, now: Moment) -> None:
        super()._see(record, now)
        if record.offset % 8 == 0 and len(self._jobs.table) < ROWS_MAX:
            self._tell_state(record, digest(self._jobs))
