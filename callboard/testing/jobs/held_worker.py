"""A worker that runs jobs only while it is told to, and says how they ended."""

from collections.abc import Callable, Iterable
from random import Random

from callboard.actors.core.decision import Effect, Moment
from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.schedules.ticker import Ticker
from callboard.actors.jobs.worker import WorkerSettings
from callboard.actors.jobs.worker.dispatcher import Dispatcher
from callboard.backends.log import Log
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.job import Job
from callboard.board.jobs.reading import JobReading
from callboard.board.jobs.work.ending import Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.worker import Worker
from callboard.messages.topics import job_topic

NEWS_S = 60.0
"""Between two looks while a function runs, if it adds nothing to the log."""


class HeldDispatcher(Dispatcher):
    """Leases no jobs, and adds none of schedules, while it is held."""

    def __init__(self, is_held: Callable[[], bool], settings: WorkerSettings, rng: Random) -> None:
        super().__init__(settings, rng)
        self._is_held = is_held

    def _dispatch(self, now: Moment) -> Iterable[Effect]:
        return () if self._is_held() else super()._dispatch(now)


class HeldWorker(Worker):
    """Keeps what it has run since it was woken, and what that raised."""

    ran: tuple[int, ...] = ()
    errors: tuple[BaseException, ...] = ()

    async def wake(self) -> None:
        """Have the dispatcher look again at what is due."""
        self.ran, self.errors = (), ()
        await self.announce()

    async def announce(self) -> None:
        """Have all know of this worker."""
        await self._announce()

    async def outcomes(self, jobs: BoardJobs) -> tuple[Job, ...]:
        """The jobs that it has run, as they are now. Raises what their functions raised."""
        if len(self.errors) == 1 and isinstance(self.errors[0], Exception):
            raise self.errors[0]
        if self.errors:
            raise BaseExceptionGroup("functions of jobs have raised errors", self.errors)
        found = [await jobs.get(job) for job in dict.fromkeys(self.ran)]
        return tuple(filter(None, found))

    def _has(self, running: RunningJob) -> bool:
        found = super()._has(running)
        self.ran += (running.id,) * found
        return found

    def _end(self, running: RunningJob, ending: Ending, run_ms: int) -> None:
        if ending.error is not None and super()._has(running):
            ending.error.add_note(f"raised by job {running.id}, {running.topic}, in attempt {running.attempt}")
            self.errors += (ending.error,)
        super()._end(running, ending, run_ms)


class Due:
    """What the dispatcher would do next, by the same rules on the same jobs."""

    def __init__(self, log: Log, prefix: str) -> None:
        self._reading = JobReading(log, job_topic(prefix))
        self._begin(Jobs())

    def _begin(self, jobs: Jobs) -> None:
        self._jobs, self._planner, self._ticker = jobs, Planner(jobs), Ticker(jobs)

    async def until_none(self, now_ms: Callable[[], int]) -> None:
        """Wait until no job runs, or is to be started or added now."""
        while await self._is_anything(now_ms):
            await self._reading.news(NEWS_S)

    async def _is_anything(self, now_ms: Callable[[], int]) -> bool:
        jobs = (await self._reading.catch_up()).jobs
        if self._jobs is not jobs:
            self._begin(jobs)
        ticks = self._ticker.due(now_ms(), "")
        self._ticker.end()
        planned = self._planner.plan(now_ms())
        for job, _ in planned:
            jobs.waiting.enter(job)
        return bool(ticks or planned or jobs.leases)

    @property
    def next_ms(self) -> int | None:
        """When there is more to do, after ``until_none``."""
        times = self._jobs.waiting.next_due_ms, self._ticker.next_ms, self._planner.next_ms
        return min((time for time in times if time is not None), default=None)
