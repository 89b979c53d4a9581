"""The jobs of a board: adding, reading, and commands."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

from callboard.board.connect.user import current_user
from callboard.board.jobs.adding import JobAdder
from callboard.board.jobs.job import Job
from callboard.board.jobs.new_job import NewJob, NewJobOptions
from callboard.board.jobs.queues import QueueOptions, QueueSettings, QueueState, queue_settings, queue_states
from callboard.board.jobs.running import Handlers
from callboard.board.jobs.scheduling import Scheduling
from callboard.board.jobs.worker import Worker
from callboard.board.member.member import Member
from callboard.board.member.options import MemberOptions, member_plan
from callboard.door import jobs as door
from callboard.door import members
from callboard.errors import NotAnswered, RequestRefused, TopicMissing, Undecodable
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobCommandMessage
from callboard.messages.jobs.job_state import JobState

DRAIN_S = 10.0
NEWS_S = 60.0

OPEN = (JobState.QUEUED, JobState.ACTIVE)


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs of a listing; ``after`` gets the next page, -1 on the last one."""

    items: tuple[Job, ...]
    after: int = -1


class BoardJobs(Scheduling):
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
        """Add jobs, all or none. Raises as ``add``."""
        given = list(jobs)
        for each in given:
            if not isinstance(each, NewJob):
                raise RequestRefused(f"{each!r:.80} is no NewJob")
            door.new_job(**{name: getattr(each, name) for name in NewJob.__slots__})
        if not given:
            return ()
        if len(given) > door.JOBS_MAX:
            raise RequestRefused(
                f"these are {len(given)} jobs, and {door.JOBS_MAX} is the most in one call; add the rest in another"
            )
        try:
            ids = await self._adder().add(given)
        except Undecodable as error:
            raise RequestRefused(str(error)) from error
        if any(each.unique for each in given):
            return await self._ruled(given, ids)
        return tuple(map(_added, given, ids))

    async def _ruled(self, given: Sequence[NewJob], ids: Sequence[int]) -> tuple[Job, ...]:
        """The jobs that were added, or those that have their keys."""
        jobs = (await self._read()).jobs
        found = list[Job]()
        for new, job in zip(given, ids, strict=True):
            owner = jobs.unique.job(new.unique, 0) if new.unique and jobs.state_of(job) is None else None
            its = await self.get(job if owner is None else owner)
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
        **options: Unpack[MemberOptions],
    ) -> Worker:
        """A worker that runs jobs in this process, as a member of the cluster; not yet started.

        Args:
            functions: by topic or pattern of topics; or a ``JobRegistry``. Each gets the payload, as the pydantic model
                that annotates its first argument, if one does; and the ``RunningJob``, if it takes a second one. Its
                result is that of the job. A coroutine function runs on the event loop, any other in a thread.
            slots: how many jobs run at a time.
            drain_s: seconds that ``stop`` waits for those that run.
            **options: of the member, see ``MemberOptions``.

        Raises:
            ConfigError: wrong options.
        """  # fmt: skip
        door.worker(slots=slots, drain_s=drain_s)
        member = Member(self._board, member_plan(members.options(options), self._board))
        return Worker(self._board, member, Handlers(functions), slots, drain_s)

    # Questions.

    async def get(self, job: int) -> Job | None:
        """The job with all its details; None if there is none with this id."""
        door.asked(job=job)
        return await (await self._read()).details(job)

    async def find(
        self,
        states: str | JobState | Iterable[str | JobState] = OPEN,
        *,
        topic: str | None = None,
        after: int = -1,
        limit: int = 100,
        newest: bool = False,
    ) -> JobPage:
        """Jobs in these states, the oldest first or the newest; by default those that have not ended.

        Args:
            states: one or several, such as ``"queued"``.
            topic: a topic or a pattern of topics.
            after: the ``after`` of the page before.
            limit: jobs on the page, up to 1000.
            newest: begin with the newest.
        """
        taken = door.asked(states=states, topic=topic, after=after, limit=limit)
        reading = await self._read()
        ids = reading.find(taken["states"], topic, after, newest=newest)
        items = list[Job]()
        for job in ids:
            if len(items) == limit:
                return JobPage(tuple(items), items[-1].id)
            if (found := reading.summary(job)) is not None:
                items.append(found)
        return JobPage(tuple(items))

    async def queues(self) -> tuple[QueueState, ...]:
        """What waits and runs in each queue."""
        return queue_states(await self._read())

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
        return await self._command(jobs, JobCommandMessage(stop=jobs), reason, author)

    async def drop(self, *jobs: int, reason: str = "", author: str = "") -> tuple[int, ...]:
        """End jobs at once: those that run are cancelled, and their outcome is ignored. Returns those not ended yet."""
        return await self._command(jobs, JobCommandMessage(drop=jobs), reason, author)

    async def retry(self, job: int) -> Job:
        """Add a job that has ended once more, under a new id. Raises ``RequestRefused``."""
        found = await self.get(job)
        if found is None or not found.state.is_final:
            why = "there is no such job" if found is None else f"it is {found.state.name.lower()}"
            raise RequestRefused(
                f"job {job} cannot be added again: {why}", code="not_found" if found is None else "live"
            )
        return await self.add(
            found.topic, found.payload, priority=found.priority, lane=found.lane, unique=found.unique, title=found.title
        )

    async def suspend(self, queue: str, reason: str = "", author: str = "") -> None:
        """Start no more jobs of the queue; those that run go on."""
        door.asked(queue=queue)
        await self._command((), JobCommandMessage(suspend=queue), reason, author)

    async def resume(self, queue: str, reason: str = "", author: str = "") -> None:
        """Start jobs of the queue again."""
        door.asked(queue=queue)
        await self._command((), JobCommandMessage(resume=queue), reason, author)

    async def configure(self, name: str, topics: Iterable[str], **options: Unpack[QueueSettings]) -> None:
        """Add a queue, or replace the settings of the one with this name, which keeps its place.

        The options are those of ``QueueSettings``. Raises ``RequestRefused``.
        """
        settings = queue_settings(QueueOptions(**door.queue(name=name, topics=topics, **options)))
        await self._command((), JobCommandMessage(configure=settings), "", "")

    async def remove_queue(self, queue: str) -> None:
        """Remove the settings of the queue; its topics go to the queues that match them otherwise."""
        door.asked(queue=queue)
        await self._command((), JobCommandMessage(remove=queue), "", "")

    async def _command(
        self, jobs: tuple[int, ...], command: JobCommandMessage, reason: str, author: str
    ) -> tuple[int, ...]:
        if jobs:
            door.asked(jobs=jobs)
        door.asked(reason=reason, author=author)
        command = replaced(command, reason=reason, author=author or current_user())
        refused = await self._append(command, command.author)
        return tuple(job for job in jobs if job not in refused)


def _added(new: NewJob, job: int) -> Job:
    return Job(
        id=job, topic=new.topic, queue="", state=JobState.QUEUED, payload=new.payload, priority=new.priority,
        lane=new.lane, unique=new.unique, title=new.title,
    )  # fmt: skip
