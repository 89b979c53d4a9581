"""What the one worker of a cluster appends that dispatches."""

from callboard.actors.core.decision import Moment
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.schedules.ticker import Ticker
from callboard.actors.jobs.snapshots.search import Snapshot
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.actors.jobs.worker.snapshotting import Snapshotting
from callboard.messages.event import Event
from callboard.messages.jobs.job_mail import TellCluster
from callboard.messages.jobs.job_messages import (
    BATCH_MAX,
    JobCommandMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    WorkerGoneMessage,
)

NOBODY = TellCluster(cluster_log="", epoch=-1, incarnation="")

FORGET_S = 60.0
"""Between two records that remove less than a thousand jobs from the history."""


class Dispatching:
    """Takes the place of the former dispatcher, if that is no member any more and this is the first worker in the order
    of the cluster. Then adds the jobs of schedules, leases jobs, and dismisses workers that are no members any more.
    """

    def __init__(self, settings: WorkerSettings, begun: Snapshot, told: TellCluster) -> None:
        self._settings = settings
        self._jobs = jobs = begun.jobs
        self._planner = Planner(jobs)
        self._ticker = Ticker(jobs)
        self._planned: list[tuple[int, str]] = []
        self._saying: tuple[Event, ...] = ()
        self._offset = -1
        """Of the last record appended, once it is known, until it is read back."""
        self._read_to = begun.as_of
        self._paused = False
        self._next_forgetting_s = 0.0
        self.told = told
        self.snapshots = Snapshotting(begun)

    def learn(self, ended: JobsEndedMessage) -> None:
        """Take in how long jobs ran."""
        self._planner.learn(ended)

    def next(self, now: Moment) -> tuple[Event, ...]:
        """What to append now; nothing while the last append is not read back."""
        if self._paused or not self.told.standing:
            return ()
        if not self._saying:
            self._saying = self._messages(now)
            if self._dispatches:
                self._saying += self.snapshots.next_part(self._read_to, self.told.incarnation)
            else:
                self.snapshots.stop()
            return self._saying
        return ()

    def _messages(self, now: Moment) -> tuple[Event, ...]:
        told, jobs, fence = self.told, self._jobs, self._jobs.fence
        if not self._dispatches:
            claim = JobsLeasedMessage(cluster_log=told.cluster_log, epoch=told.epoch, dispatcher=told.incarnation)
            return (claim,) if self._may_begin else ()
        gone = tuple(
            WorkerGoneMessage(incarnation=name, cluster_log=fence.cluster_log, epoch=fence.epoch)
            for name, worker in jobs.workers.items()
            if name not in told.members and worker.member_epoch <= told.epoch
        )
        if gone:
            return gone
        now_ms = now.wall_ns // 1_000_000
        added = self._ticker.due(now_ms, self._settings.instance)
        self._planned = self._planner.plan(now_ms)
        forgetting = self._forgetting(now)
        if not self._planned:
            return (*added, *forgetting)
        read_to, read_ms = next(reversed(jobs.recent.items()), (-1, 0))
        workers = {worker: place for place, worker in enumerate(dict.fromkeys(worker for _, worker in self._planned))}
        return (
            *added,
            *forgetting,
            JobsLeasedMessage(
                cluster_log=fence.cluster_log, epoch=fence.epoch, dispatcher=fence.dispatcher, workers=tuple(workers),
                worker_of=tuple(workers[worker] for _, worker in self._planned),
                jobs=tuple(job for job, _ in self._planned), read_to=read_to, read_ms=read_ms,
            ),
        )  # fmt: skip

    def _forgetting(self, now: Moment) -> tuple[Event, ...]:
        """Remove the jobs from the history whose time is over, a thousand at a time."""
        if now.mono_s < self._next_forgetting_s:
            return ()
        expired = self._jobs.history.expired(now.wall_ns // 1_000_000, self._jobs.ended_ms, BATCH_MAX)
        if not expired:
            return ()
        if len(expired) < BATCH_MAX:
            self._next_forgetting_s = now.mono_s + FORGET_S
        return (JobCommandMessage(author=self.told.incarnation, reason="their time is over", forget=expired),)

    @property
    def next_due_ms(self) -> int | None:
        """When there is something to append without news: the next waiting job is due, or the next tick, or a queue
        may start another job.
        """
        if not self.told.standing or not self._dispatches or self._saying:
            return None
        times = self._jobs.waiting.next_due_ms, self._ticker.next_ms, self._planner.next_ms
        return min((time for time in times if time is not None), default=None)

    @property
    def _dispatches(self) -> bool:
        """Whether this is the dispatcher, as far as it has read."""
        fence, told = self._jobs.fence, self.told
        return (fence.cluster_log, fence.dispatcher) == (told.cluster_log, told.incarnation)

    @property
    def _may_begin(self) -> bool:
        """Whether this should become the dispatcher; if several try, the log admits one."""
        fence, told = self._jobs.fence, self.told
        if fence.cluster_log == told.cluster_log and (fence.dispatcher in told.members or fence.epoch >= told.epoch):
            return False
        return next((each for each in told.members if each in self._jobs.workers), "") == told.incarnation

    def trim_below(self, now: Moment) -> int:
        """The offset below which this removes records now; -1 if it removes none."""
        return self.snapshots.below(now.mono_s) if self.told.standing and self._dispatches else -1

    def problems(self) -> list[tuple[str, str]]:
        """Schedules that have no ticks because something is unknown here, and what it is; each is told once."""
        found, self._ticker.problems = self._ticker.problems, []
        return found

    def appended(self, offsets: tuple[int, ...]) -> None:
        """The last messages are on the log."""
        self._offset = offsets[-1]
        self._finish()

    def read(self, offset: int) -> None:
        """The record at this offset was applied."""
        self._read_to = offset
        self._finish()

    def retry(self) -> None:
        """The append failed a while ago: whether its records are on the log is unknown, so plan again. What they
        leased twice is refused.
        """
        self._paused = False
        self._end()

    def failed(self) -> None:
        """The append has failed; wait for ``retry``."""
        self._paused = True
        self.snapshots.failed()

    def _finish(self) -> None:
        if self._offset >= 0 and self._read_to >= self._offset:
            self._end()

    def _end(self) -> None:
        """Put back what was planned and is not leased after all, and the ticks whose jobs were not added."""
        self._ticker.end()
        left = [job for job, _ in self._planned if job not in self._jobs.leases and self._jobs.is_open(job)]
        for job in left:
            self._jobs.waiting.enter(job)
        if left and len(left) == len(self._planned):
            self._planner.undo()
        self._planned, self._saying, self._offset = [], (), -1
