"""A worker: runs jobs in this process, which is a member of the cluster for as long."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

from callboard.actors.jobs.worker import roles
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.backends.fence import Token
from callboard.board.context import BoardContext
from callboard.board.jobs.running import Ending, Handlers, RunningJob, run
from callboard.board.member.attendance import Attendance
from callboard.board.member.member import Member
from callboard.errors import MembershipEnded, NotAnswered
from callboard.logger import get_logger
from callboard.messages.jobs.job_mail import LeasedJob, TellCluster, WatchWork, Work, WorkerReport
from callboard.messages.jobs.job_messages import (
    BATCH_MAX,
    JobsEndedMessage,
    Outcome,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.topics import job_topic

WAIT_MS = 5000
"""How long a question for work may wait."""

ANSWER_S = 30.0
"""Seconds for an answer; the log may have to come back first."""


class Worker:
    """Runs jobs while it is started, or inside ``async with``: up to ``slots`` at a time."""

    def __init__(self, board: BoardContext, member: Member, handlers: Handlers, slots: int, drain_s: float) -> None:
        self._board, self._member, self._handlers = board, member, handlers
        self._slots, self._drain_s = slots, drain_s
        self._turns = asyncio.Semaphore(slots)
        self._known: dict[int, RunningJob] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._ended: list[tuple[int, Ending, int]] = []
        self._news, self._reported = asyncio.Event(), asyncio.Event()
        self._stopping = False
        self._work: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Join the cluster, and take jobs from then on."""
        await self._member.start()
        await self._member.settled()
        await self._board.log.ensure(job_topic(self._board.settings.prefix))
        instance = self._attendance.settings.instance
        topic = job_topic(self._board.settings.prefix)
        self._agent = await self._board.agents.worker(WorkerSettings(topic=topic, instance=instance))
        self._work = [asyncio.create_task(each) for each in (self._follow_cluster(), self._take_work(), self._report())]

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
        """Tell the agent about the cluster whenever it has changed, and the cluster about this worker."""
        told: TellCluster | None = None
        token: Token | None = None
        announced = ""
        while True:
            attendance = self._attendance
            changed, view = attendance.changed, attendance.cluster.view
            if view is not None:
                token = token if token and attendance.holds(token) else attendance.may_lead()
                news = TellCluster(
                    cluster_log=view.log_id, epoch=view.epoch, leader_epoch=view.leader_epoch,
                    incarnation=self._incarnation, leads=token is not None,
                    members=tuple(each.incarnation for each in view.instances),
                )  # fmt: skip
                if announced != self._incarnation:
                    await self._announce(self._slots, view.epoch)
                    announced = self._incarnation
                if news != told:
                    await self._agent.ask(roles.DISPATCHER, news, ANSWER_S)
                    told = news
            await changed.wait()

    async def _announce(self, slots: int, epoch: int) -> None:
        its = self._attendance.settings
        message = WorkerMessage(
            instance=its.instance, incarnation=its.incarnation, slots=slots, topics=self._handlers.patterns,
            member_epoch=epoch,
        )  # fmt: skip
        await self._agent.ask(roles.REPORTER, WorkerReport(worker=message), ANSWER_S)

    # Work.

    async def _take_work(self) -> None:
        while True:
            stopping = tuple(job for job, its in self._known.items() if its.stopping.is_set())
            question = WatchWork(worker=self._incarnation, known=tuple(self._known), stopping=stopping, wait_ms=WAIT_MS)
            with suppress(NotAnswered):
                self._take(await self._agent.ask(roles.DISPATCHER, question, ANSWER_S))

    def _take(self, work: Work) -> None:
        if work.problem:
            get_logger().error("worker.blocked", problem=work.problem, reason=work.detail)
        for job in work.revoked:
            self._known.pop(job, None)
            if (task := self._tasks.pop(job, None)) is not None:
                task.cancel()
        self._reported.set()
        for job in work.stopping:
            self._known[job].stopping.set()
            handler = self._handlers.of(self._known[job].topic)
            if handler is not None and handler.is_async and job in self._tasks:
                self._tasks[job].cancel()
        for leased in work.leased:
            self._known[leased.job] = running = RunningJob(leased.job, leased.topic, leased.attempt)
            self._tasks[leased.job] = asyncio.create_task(self._run(leased, running))

    async def _run(self, leased: LeasedJob, running: RunningJob) -> None:
        async with self._turns:
            handler = self._handlers.of(leased.topic)
            if handler is None or self._stopping:
                self._end(leased.job, Ending(Outcome.RETURNED), 0)
                return
            loop = asyncio.get_running_loop()
            begun = loop.time()
            ending = await run(handler, leased, running)
        self._end(leased.job, ending, int((loop.time() - begun) * 1000))

    def _end(self, job: int, ending: Ending, run_ms: int) -> None:
        self._tasks.pop(job, None)
        if job in self._known:
            self._ended.append((job, ending, run_ms))
            self._news.set()

    async def _report(self) -> None:
        """Report what has ended, all at once, until the log has it."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._ended:
                batch, self._ended = self._ended[:BATCH_MAX], self._ended[BATCH_MAX:]
                await self._agent.ask(roles.REPORTER, WorkerReport(ended=self._message(batch)), ANSWER_S)
                for job, _, _ in batch:
                    self._known.pop(job, None)
                self._reported.set()

    def _message(self, batch: Iterable[tuple[int, Ending, int]]) -> JobsEndedMessage:
        jobs, endings, run_ms = zip(*batch, strict=True)
        ends = (ending.at(place) for place, ending in enumerate(endings))
        return JobsEndedMessage(
            worker=self._incarnation, jobs=jobs, outcomes=tuple(int(each.outcome) for each in endings), run_ms=run_ms,
            ends=tuple(each for each in ends if each is not None),
        )  # fmt: skip

    # The end.

    async def stop(self) -> None:
        """Take no more jobs, wait for those that run, give back the others, and leave the cluster."""
        self._stopping = True
        view = self._attendance.cluster.view
        await self._announce(0, view.epoch if view else -1)
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=self._drain_s)
        for job, task in list(self._tasks.items()):
            task.cancel()
            self._end(job, Ending(Outcome.RETURNED, "its worker stopped"), 0)
        while self._known:
            self._reported.clear()
            await self._reported.wait()
        gone = WorkerGoneMessage(incarnation=self._incarnation)
        await self._agent.ask(roles.REPORTER, WorkerReport(gone=gone), ANSWER_S)
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._agent.stop(1.0)
        await self._member.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
