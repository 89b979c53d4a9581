"""A worker: runs jobs in this process, which is a member of the cluster for as long."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from socket import gethostname
from types import TracebackType
from typing import Any, Literal, Self

from callboard.actors.jobs.worker import roles
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.board.connect.functions.cancelled_body import CancelledBody
from callboard.board.context import BoardContext
from callboard.board.jobs.functions.handlers import Handlers
from callboard.board.jobs.work.ending import RETURNED, Ending
from callboard.board.jobs.work.outcomes import Outcomes
from callboard.board.jobs.work.progress import ProgressReports
from callboard.board.jobs.work.running_job import RunningJob
from callboard.board.jobs.work.slots import Slots
from callboard.board.member.attendance import Attendance
from callboard.board.member.calling import completed, one_ended
from callboard.board.member.member import Member
from callboard.door.limits import TIMEOUT_S_MAX
from callboard.errors import CallboardError, MembershipEnded, NotAnswered
from callboard.logger import get_logger
from callboard.messages.jobs.job_mail import TellCluster, WatchWork, Work, WorkerReport
from callboard.messages.jobs.job_messages import Outcome, WorkerGoneMessage, WorkerMessage
from callboard.messages.topics import job_topic
from callboard.messages.topology.member_mail import MemberProblem

WAIT_MS = 5000
"""How long a question for work may wait."""

ANSWER_S = 30.0
"""Seconds for an answer that needs no log; then it is asked again."""

GIVE_BACK_S = 10.0
"""Seconds that ``stop`` waits for the log to take what the worker says at its end."""


class Worker:
    """Runs jobs while it is started, or inside ``async with``: up to ``slots`` at a time.

    If it cannot go on, the body of ``async with`` is cancelled, and the reason is raised from there.
    """

    def __init__(
        self, board: BoardContext, member: Member, handlers: Handlers, slots: int, drain_s: float,
        deny: tuple[str, ...] = (), tags: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self._board, self._member, self._handlers = board, member, handlers
        self._drain_s, self._deny, self._tags = drain_s, deny, tags
        self._known: dict[int, RunningJob] = {}  # until their end was read back
        self._ended, self._revoked = Outcomes(), asyncio.Event()
        self._progress = ProgressReports(self._say, lambda: self._incarnation)
        self._slots = Slots(slots, handlers, self._progress, self._has, self._end)
        self._tasks = self._slots.tasks
        self._stopping = self._paused = False
        self._work: list[asyncio.Task[None]] = []
        self._body: CancelledBody | None = None

    async def start(self) -> None:
        """Join the cluster, and take jobs from then on. Raises as ``Member.start`` and ``Member.settled``."""
        await self._member.start()
        try:
            await self._member.settled()
            topic = job_topic(self._board.settings.prefix)
            await self._board.log.ensure(topic)
            settings = WorkerSettings(topic=topic, instance=self._attendance.settings.instance)
            self._agent = await self._board.agents.worker(settings)
        except BaseException:
            await self._member.stop()
            raise
        self._stopping, self._serves, self._serving = False, "", asyncio.Event()
        work = (self._follow_cluster(), self._take_work(), self._report(), self._progress.follow(self._known))
        self._work = [_begun(each) for each in work]

    @property
    def state(self) -> Literal["stopped", "failed", "waiting", "paused", "working"]:
        """What it does: ``waiting`` is for its membership, and ``working`` to take jobs."""
        if not self._work or self._stopping:
            return "stopped"
        if any(each.done() for each in self._work):
            return "failed"
        member = self._serves and self._attendance.standing
        return "waiting" if not member else "paused" if self._paused else "working"

    @property
    def _attendance(self) -> Attendance:
        attendance = self._member.attendance
        if attendance is None:
            raise MembershipEnded("the worker is not started; use it inside `async with`")
        return attendance

    @property
    def _incarnation(self) -> str:
        return self._attendance.settings.incarnation

    async def _follow_cluster(self) -> None:
        """Tell the agent about the cluster, again and again, as its dispatcher may have restarted; and the cluster
        about this worker in each of its incarnations, which then ``_serves``.
        """
        while True:
            attendance = self._attendance
            changed, view = attendance.changed, attendance.cluster.view
            if self._serves and (attendance.news.problem == MemberProblem.EVICTED or self._serves != self._incarnation):
                self._serves = ""  # others run its jobs from now on
                self._serving.clear()
                self._revoke(tuple(self._known))
                continue
            if view is not None and view.local is not None and view.local.incarnation == self._incarnation:
                if not self._serves:
                    self._serves = self._incarnation
                    self._serving.set()
                    await self._announce()
                news = TellCluster(
                    cluster_log=view.log_id, epoch=view.epoch, incarnation=self._incarnation,
                    standing=attendance.standing, members=tuple(each.incarnation for each in view.instances),
                )  # fmt: skip
                with suppress(NotAnswered):
                    await self._agent.ask(roles.DISPATCHER, news, ANSWER_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_MS / 1000):
                    await changed.wait()

    async def _announce(self) -> None:
        """Tell all of this worker; not before it is a member, or it would be taken for one that has left."""
        its, view = self._attendance.settings, self._attendance.cluster.view
        if view is None or view.local is None or view.local.incarnation != its.incarnation:
            return
        message = WorkerMessage(
            instance=its.instance, incarnation=its.incarnation,
            slots=0 if self._stopping or self._paused else self._slots.many, topics=self._handlers.patterns,
            member_epoch=view.epoch, host=gethostname(), deny=self._deny, tags=self._tags,
        )  # fmt: skip
        await self._say(WorkerReport(worker=message))

    async def _say(self, report: WorkerReport) -> None:
        """Wait until the log has it, however long that takes."""
        await self._agent.ask(roles.REPORTER, report, TIMEOUT_S_MAX)

    # Work.

    async def _take_work(self) -> None:
        while True:
            await self._serving.wait()
            known = tuple(self._known.values())
            question = WatchWork(
                worker=self._serves, known=tuple([its.id for its in known]),
                leases=tuple([its.lease for its in known]), wait_ms=WAIT_MS,
                stopping=tuple([its.id for its in known if its.is_stopping]),
            )  # fmt: skip
            try:
                work = await self._agent.ask(roles.DISPATCHER, question, ANSWER_S)
            except NotAnswered:
                if self._agent.has_ended:
                    raise
                continue
            if question.worker == self._serves:  # else it was evicted meanwhile
                self._take(work)
                if work.stranger:
                    await self._announce()

    def _take(self, work: Work) -> None:
        if work.problem:
            get_logger().error("worker.blocked", problem=work.problem, reason=work.detail)
        self._revoke(work.revoked)
        if not (work.leased or work.revoked):  # it has waited for some seconds
            self._ended.repeat()
        for leased in work.leased:
            running = self._known[leased.job] = RunningJob.of(leased, self._progress)
            self._slots.put(leased, running)
        for job in work.stopping:
            if (its := self._known.get(job)) is not None and not its.is_stopping:
                its.stop()
                handler, task = self._handlers.of(its.topic), self._tasks.get(job)
                if task is None:
                    self._end(its, RETURNED, 0)
                elif handler is not None and (handler.is_async or handler.reference):
                    task.cancel()
        if self._paused:
            self._give_back()
        self._slots.begin()

    def _revoke(self, jobs: tuple[int, ...]) -> None:
        """The worker no longer has the jobs."""
        for job in jobs:
            self._known.pop(job, None)
            self._ended.settle(job)
            if (task := self._tasks.pop(job, None)) is not None:
                task.cancel()
        self._revoked.set()

    def _give_back(self) -> None:
        """Give back the jobs that have not begun."""
        for job in [job for job, task in self._tasks.items() if task is None]:
            self._end(self._known[job], RETURNED, 0)

    async def pause(self) -> None:
        """Take no more jobs, and give back those that have not begun; others run on. Returns when the log has it."""
        self._paused = True
        self._give_back()
        await self._announce()

    async def resume(self) -> None:
        """Take jobs again."""
        self._paused = False
        await self._announce()

    def _has(self, running: RunningJob) -> bool:
        """Whether the job may run: it is still leased, and was not given back."""
        return self._known.get(running.id) is running and running.id in self._tasks and not self._stopping

    def _end(self, running: RunningJob, ending: Ending, run_ms: int) -> None:
        """The job has ended, if it is still leased and has not ended before."""
        if self._known.get(running.id) is running and self._tasks.pop(running.id, self) is not self:
            self._ended.add(running, ending, run_ms)

    async def _report(self) -> None:
        """Report what has ended, all at once, until the log has it."""
        while True:
            await self._ended.some()
            await self._slots.pause()
            await self._ended.some()  # those may have been taken from it meanwhile
            running, ended = self._ended.take(self._incarnation)
            await self._progress.tell(running)
            await self._say(WorkerReport(ended=ended))

    # The end.

    async def ended(self) -> None:
        """Wait until it has ended. Raises ``MembershipEnded``, or what else ended it, unless it was stopped."""
        await one_ended(self._member.ended(), self._work)

    async def stop(self) -> None:
        """Take no more jobs, wait for those that run, give back the others, and leave the cluster. If the log does not
        take that within ``drain_s`` and 10 s, others run the jobs once the membership has lapsed.
        """
        if not self._work:
            return
        self._stopping = True
        try:
            async with asyncio.timeout(self._drain_s + GIVE_BACK_S):
                await self._drain()
        except (TimeoutError, CallboardError) as error:
            reason = str(error) or "the log did not take what the worker said"
            get_logger().warning("worker.not_drained", jobs=len(self._known), reason=reason)
        finally:
            try:
                await completed(self._release())
            finally:
                await self._member.stop()

    async def _release(self) -> None:
        work, self._work = [*self._work, *filter(None, self._tasks.values())], []
        self._slots.close()
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await self._slots.processes.close()
        self._revoke(tuple(self._known))
        await self._agent.stop(1.0)

    async def _drain(self) -> None:
        await self._announce()
        if begun := list(filter(None, self._tasks.values())):
            await asyncio.wait(begun, timeout=self._drain_s)
        for job, task in list(self._tasks.items()):
            self._end(self._known[job], Ending(Outcome.RETURNED, "its worker stopped"), 0)
            if task is not None:
                task.cancel()
        while self._known:
            self._revoked.clear()
            await self._revoked.wait()
        await self._say(WorkerReport(gone=WorkerGoneMessage(incarnation=self._incarnation)))

    async def __aenter__(self) -> Self:
        await self.start()
        self._body = CancelledBody(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._body is not None, "entered before"
        instead = self._body.leave(error)
        await self.stop()
        if instead is not None:
            raise instead


def _begun(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    task.add_done_callback(_tell_failure)
    return task


def _tell_failure(work: asyncio.Task[None]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        get_logger().error("worker.ended", reason=str(error) or type(error).__name__)
