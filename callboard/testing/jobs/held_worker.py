"""A worker that runs jobs only while it is told to, and says how they ended."""

from collections.abc import Callable, Iterable
from random import Random

from callboard.actors.core.decision import Effect, Moment
from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.schedules.ticker import Ticker
from callboard.actors.jobs.worker import WorkerSettings
from callboard.actors.jobs.worker.dispatcher import Dispatcher
from callboard.board.jobs.work.ending import Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.worker import Worker


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
        await self._announce()

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

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._planner, self._ticker = Planner(jobs), Ticker(jobs)

    def is_anything(self, now_ms: int) -> bool:
        """Whether any job runs, or is to be started or added now."""
        ticks = self._ticker.due(now_ms, "")
        self._ticker.end()
        planned = self._planner.plan(now_ms)
        for job, _ in planned:
            self.jobs.waiting.enter(job)
        return bool(ticks or planned or self.jobs.leases)

    @property
    def next_ms(self) -> int | None:
        """When there is more to do, after ``is_anything`` said no."""
        times = self.jobs.waiting.next_due_ms, self._ticker.next_ms, self._planner.next_ms
        return min((time for time in times if time is not None), default=None)
