"""The jobs of a board: adding, reading, and commands."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from callboard.board.jobs.adding import JobAdder
from callboard.board.jobs.finding.finding import DEAD, Finding, JobQuery
from callboard.board.jobs.finding.plan import JobPlan, job_plan
from callboard.board.jobs.functions.handlers import Handlers
from callboard.board.jobs.functions.publishing import PUBLISH, publishing
from callboard.board.jobs.health.report import WorkerState, worker_states
from callboard.board.jobs.job import Job
from callboard.board.jobs.job_events import JobEvents
from callboard.board.jobs.job_spans import adding
from callboard.board.jobs.log_context import context_here, with_said
from callboard.board.jobs.new_job import NewJob, NewJobOptions, checked_jobs
from callboard.board.jobs.outbox.outboxing import Outboxing
from callboard.board.jobs.queues import (
    COMPAT,
    QueueSettings,
    QueueState,
    demand_configured,
    demand_queue,
    queue_settings,
    queue_states,
)
from callboard.board.jobs.reading import JobReading
from callboard.board.jobs.schedules.schedule_state import scheduled
from callboard.board.jobs.schedules.scheduling import Scheduling
from callboard.board.jobs.work.worker import Worker
from callboard.board.member.member import Member
from callboard.board.member.options import MemberOptions, member_plan
from callboard.door import jobs as door
from callboard.door import members
from callboard.errors import NotAnswered, RequestRefused, TopicMissing, Undecodable
from callboard.messages.jobs.job_messages import offset_of
from callboard.messages.jobs.job_state import JobState

DRAIN_S = 10.0
NEWS_S = 60.0


class BoardJobs(Finding, JobEvents, Outboxing, Scheduling):
    """Adds jobs to the log, tells what became of them, and commands them. Every question reads the log to its end."""

    async def add(self, topic: str, payload: object = None, **options: Unpack[NewJobOptions]) -> Job:
        """Add a job; returns it once the log has it.

        The options are those of ``NewJob``. If another job has the same ``unique`` key, that one is returned.

        Raises:
            RequestRefused: wrong options, or a payload that cannot be stored.
            LogUnavailable: the log fails; it is unknown whether the job was added.
        """
        [job] = await self.add_all([NewJob(**door.new_job(topic=topic, payload=payload, **options))])
        return job

    async def add_all(self, jobs: Iterable[NewJob]) -> tuple[Job, ...]:
        """Add jobs, all or none. A job may run ``after`` others that are before it in the list. Raises as ``add``."""
        if not (given := checked_jobs(jobs)):
            return ()
        waits = any(each.after for each in given)
        if waits:
            demand_known(given, await self._read())
        try:
            with adding(given) as span:
                ids = await self._adder().add(given, context_here(self._board.settings.job_context, span))
                span.set({"messaging.message.id": str(ids[0])} if len(ids) == 1 else {})
        except Undecodable as error:
            raise RequestRefused(str(error)) from error
        if waits or any(each.unique for each in given):
            return await self._ruled(given, ids)
        return tuple(map(_added, given, ids))

    async def plan(self, topic: str, payload: object = None, **options: Unpack[NewJobOptions]) -> JobPlan:
        """What ``add`` would do with these arguments; adds nothing."""
        try:
            new = NewJob(**door.new_job(topic=topic, payload=payload, **options))
            self._adder().check([new])
            demand_known([new], await self._read())
        except (RequestRefused, Undecodable) as error:
            return JobPlan(topic=topic if isinstance(topic, str) else "", refused=str(error))
        return job_plan(await self._read(), new)

    async def batch(self, jobs: Iterable[NewJob], then: NewJob) -> Job:
        """Add jobs, and one that runs when all of them have ended, also if some do not succeed. Returns the latter.

        It has their ids in ``after``. How many have not ended yet is in ``waits_for``, and costs little to ask for:
        ``(await board.jobs.get(job.id)).waits_for``. Raises as ``add``.
        """
        given = checked_jobs(jobs)
        [then] = checked_jobs([then])
        *_, last = await self.add_all([*given, replace(then, after=(*then.after, *given), after_failures=True)])
        return await self.get(last.id) or last

    async def _ruled(self, given: Sequence[NewJob], ids: Sequence[int]) -> tuple[Job, ...]:
        """The jobs that were added, or those that have their keys.

        Raises ``RequestRefused`` if a job that one waits for was forgotten meanwhile; the others are added.
        """
        reading = await self._read()
        jobs = reading.jobs
        found = list[Job]()
        for new, job in zip(given, ids, strict=True):
            owner = jobs.unique.job(new.unique, 0) if new.unique and jobs.state_of(job) is None else None
            why = reading.refusals.get(offset_of(job), {}).get(job)
            if new.after and owner is None and why:
                raise RequestRefused(f"a job of {new.topic} was not added: {why}", code="not_found")
            its = await self.get(job if owner is None else owner) if new.unique else None
            if new.after and its is None and (now := reading.summary(job)):
                its = replace(now, payload=new.payload)
            found.append(its or _added(new, job))
        return tuple(found)

    def _adder(self) -> JobAdder:
        its = self._board
        if its.adding is None or its.adding.log is not its.log:
            its.adding = JobAdder(its.log, self._topic, socket.gethostname(), its.now_ns, its.new_id, self._read)
        return its.adding

    def worker(
        self,
        functions: Mapping[str, Callable[..., object]],
        *,
        slots: int = 10,
        drain_s: float = DRAIN_S,
        deny: Iterable[str] = (),
        **options: Unpack[MemberOptions],
    ) -> Worker:
        """A worker that runs jobs in this process, as a member of the cluster; not yet started.

        Args:
            functions: by topic or pattern of topics; or a ``JobRegistry``. Each gets the payload, as the pydantic model
                or protobuf message that annotates its first argument, if one does; and the ``RunningJob``, if it takes
                a second one. Its result is that of the job. A coroutine function runs on the event loop, any other in
                a thread.
            slots: how many jobs run at a time.
            drain_s: seconds that ``stop`` waits for those that run.
            deny: topics and patterns of topics that it does not run, although it has a function for them.
            **options: of the member, see ``MemberOptions``. A queue can demand its ``tags``, such as ``"gpu"``.

        Raises:
            ConfigError: wrong options.
        """  # fmt: skip
        taken = door.worker(functions=functions, slots=slots, drain_s=drain_s, deny=deny)
        plan = member_plan(members.options(options), self._board)
        handlers = Handlers({PUBLISH: publishing(self._board), **functions})
        handlers.demand_any(taken["deny"])
        member = Member(self._board, plan)
        return Worker(self._board, member, handlers, slots, drain_s, taken["deny"], plan.agent.tags)

    # Questions.

    async def get(self, job: int) -> Job | None:
        """The job with all its details; None if there is none with this id."""
        door.asked(job=job)
        return await (await self._read()).details(job)

    async def queues(self) -> tuple[QueueState, ...]:
        """What waits and runs in each queue."""
        return queue_states(await self._read())

    async def workers(self) -> tuple[WorkerState, ...]:
        """The workers, by instance."""
        return await worker_states(self._board, await self._read())

    async def watch(self) -> AsyncGenerator[tuple[QueueState, ...], None]:
        """What waits and runs in each queue: now, and whenever that has changed."""
        told: tuple[QueueState, ...] = ()
        while True:
            reading = await self._read()
            if (states := queue_states(reading)) != told:
                told = states
                yield states
            try:
                await reading.news(NEWS_S)
            except TopicMissing:
                await asyncio.sleep(1.0)  # no job was ever added

    async def wait(self, job: int, timeout_s: float = 60.0) -> Job:
        """Wait until the job has ended. Raises ``NotAnswered`` after the timeout, ``RequestRefused`` for no job."""
        door.asked(job=job, timeout_s=timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    reading = await self._read()
                    if (state := reading.jobs.state_of(job)) is None:
                        raise RequestRefused(f"there is no job {job}", code="not_found")
                    if state.is_final:
                        found = await reading.details(job)
                        assert found is not None
                        return found
                    await reading.news(timeout_s)
        except TimeoutError:
            raise NotAnswered(f"job {job} has not ended after {timeout_s:g} s; see its state") from None

    # Commands.

    async def stop(self, *jobs: int, reason: str = "", author: str = "") -> tuple[int, ...]:
        """Stop jobs: those that wait end, those that run are told to. Returns those that had not ended."""
        return await self._command(reason, author, stop=jobs)

    async def drop(self, *jobs: int, reason: str = "", author: str = "") -> tuple[int, ...]:
        """End jobs at once: those that run are cancelled, and their outcome is ignored. Returns those not ended yet."""
        return await self._command(reason, author, drop=jobs)

    async def retry(self, job: int, reason: str = "", author: str = "") -> Job:
        """Add a job that has ended once more, under a new id, with all that it was added with but a delay and other
        jobs to wait for. Author and reason, if given, go into its context, shortened. Raises ``RequestRefused``.
        """
        said = {name: text for name, text in door.asked(author=author, reason=reason).items() if text}
        found = await self.get(job)
        if found is None:
            raise RequestRefused(f"job {job} cannot be added again: there is no such job", code="not_found")
        if not found.state.is_final:
            raise RequestRefused(f"job {job} cannot be added again: it is {found.state.name.lower()}", code="live")
        new = await (await self._read()).again(job)
        [again] = await self.add_all([replace(new, context=with_said(new.context or {}, said))])
        return await self.get(again.id) or again

    async def retry_all(
        self,
        states: str | JobState | Iterable[str | JobState] = DEAD,
        reason: str = "",
        author: str = "",
        **query: Unpack[JobQuery],
    ) -> int:
        """Add all jobs once more that have ended in these states and fit the query, see ``JobQuery``; by default those
        that were given up or ended with an error. They are forgotten then. Returns how many. See ``retry``.
        """
        final = door.asked(states=states)["states"]
        if not all(each.is_final for each in final):
            raise RequestRefused("only jobs that have ended can be added again; leave out queued and active")
        many = 0
        async for jobs in self._all(final, query):
            reading = await self._read()
            await self.add_all([await reading.again(job.id) for job in jobs])
            many += len(await self.forget(*(job.id for job in jobs), reason=reason, author=author))
        return many

    async def run_schedule(self, name: str) -> Job:
        """Add a job as the schedule does at its ticks, which stay as they are. Raises ``RequestRefused``."""
        door.asked(schedule=name)
        [job] = await self.add_all([scheduled(await self._schedule(name))])
        return job

    async def suspend(self, queue: str, reason: str = "", author: str = "") -> None:
        """Start no more jobs of the queue; those that run go on. Raises ``RequestRefused`` for an unknown queue."""
        demand_queue(await self._read(), door.asked(queue=queue)["queue"])
        await self._command(reason, author, suspend=queue)

    async def resume(self, queue: str, reason: str = "", author: str = "") -> None:
        """Start jobs of the queue again. Raises ``RequestRefused`` for an unknown queue."""
        demand_queue(await self._read(), door.asked(queue=queue)["queue"])
        await self._command(reason, author, resume=queue)

    async def configure(
        self, name: str, topics: Iterable[str], *, compat: bool = False, **options: Unpack[QueueSettings]
    ) -> None:
        """Add a queue, or replace the settings of the one with this name, which keeps its place.

        Args:
            name: of the queue; ``{0}`` in it stands for what a pattern matched, so each has a queue of its own.
            topics: topics and patterns of topics.
            compat: have the defaults of Apache Sling: 15 jobs at a time on each worker, 10 retries, each after 2 s, and
                none for a job that raises.
            **options: those of ``QueueSettings``.

        Raises:
            RequestRefused: wrong options.
        """
        door.asked(compat=compat)
        chosen: QueueSettings = {**(COMPAT if compat else {}), **options}
        settings = queue_settings(door.queue(name=name, topics=topics, **chosen))
        await self._command("", "", configure=settings)

    async def remove_queue(self, queue: str) -> None:
        """Remove the settings of the queue; its topics go to the queues that match them otherwise.

        Raises ``RequestRefused`` if the queue is not configured.
        """
        demand_configured(await self._read(), door.asked(queue=queue)["queue"])
        await self._command("", "", remove=queue)


def _added(new: NewJob, job: int) -> Job:
    return Job(
        id=job, topic=new.topic, queue="", state=JobState.QUEUED, payload=new.payload, priority=new.priority,
        lane=new.lane, unique=new.unique, title=new.title,
    )  # fmt: skip


def demand_known(given: Iterable[NewJob], reading: JobReading) -> None:
    """Raise ``RequestRefused`` if one of these is to wait for an unknown job."""
    unknown = next((job for each in given for job in each.known if reading.jobs.state_of(job) is None), None)
    if unknown is not None:
        raise RequestRefused(f"there is no job {unknown} to wait for; it may be forgotten", code="not_found")
