"""Finding jobs, and commands for many of them."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from callboard.board.connect.user import current_user
from callboard.board.jobs.finding.statistics import JobStatistics, statistics
from callboard.board.jobs.finding.templates import Condition, Template, conditions
from callboard.board.jobs.job import Job, decoded
from callboard.board.jobs.methods import JobMethods
from callboard.board.jobs.queues import demand_queue
from callboard.board.jobs.reading import Added, JobReading
from callboard.door import jobs as door
from callboard.errors import RequestRefused
from callboard.messages.jobs.job_messages import BATCH_MAX, JobCommandMessage, offset_of, place_of
from callboard.messages.jobs.job_state import OPEN, JobState

DEAD = (JobState.GIVEN_UP, JobState.ERROR)

RECORDS_KEPT = 8
"""Those that jobs listed by their end are likely to have in common."""

RECORDS_MAX, LOOKS_MAX = 1000, 10_000
"""Records that are read, and jobs that are looked at, for one page: what a question costs at most."""


class JobQuery(TypedDict, total=False):
    """Which jobs: all that is given must hold.

    Args:
        topic: a topic or a pattern of topics.
        queue: the queue that they belong to.
        lane: as given when they were added.
        creator: the host that added them.
        title: as given.
        schedule: the one that added them.
        where: what the payload has, such as ``{"size >=": 3, "to": "ann"}``: all of it; of several, any one. The
            operators are ``<``, ``<=``, ``=``, ``>=`` and ``>``, before or after the name of the property. What a
            payload does not have, or has as another kind, never matches. Dates are compared as such, also in ISO 8601.
    """

    topic: str | None
    queue: str
    lane: str
    creator: str
    title: str
    schedule: str
    where: Template | Iterable[Template]


@dataclass(frozen=True, slots=True)
class JobPage:
    """Jobs of a listing; ``after`` gets the next page, -1 on the last one."""

    items: tuple[Job, ...]
    after: int = -1


class Finding(JobMethods):
    """The methods of ``BoardJobs`` that find jobs, and command those that they find."""

    async def find(
        self,
        states: str | JobState | Iterable[str | JobState] = OPEN,
        *,
        after: int = -1,
        limit: int = 100,
        newest: bool | None = None,
        order: Literal["added", "ended"] | None = None,
        **query: Unpack[JobQuery],
    ) -> JobPage:
        """Jobs in these states; by default those that have not ended, the oldest first.

        Topics, queues and states are known at once. For all else, the records that added the jobs are read: then a page
        looks at 1000 of these and 10,000 jobs at most, and may have less than ``limit`` jobs, or none, although there
        are more.

        Args:
            states: one or several, such as ``"queued"``; or ``"open"`` for those that have not ended, ``"history"`` for
                those that have, and ``"cancelled"`` for the latter but those that succeeded.
            after: the ``after`` of the page before.
            limit: jobs on the page, up to 1000.
            newest: begin with the newest; the default if all have ended.
            order: by when they were ``added``, or ``ended``; the latter is the default if all have ended.
            **query: which of them, see ``JobQuery``.

        Raises:
            RequestRefused: wrong arguments, or an unknown queue.
        """
        taken = door.asked(states=states, after=after, limit=limit, order=order, **{**query, "where": ()})
        by_end = order == "ended" if order else all(each.is_final for each in taken["states"])
        reading = await self._read()
        if "queue" in query:
            demand_queue(reading, query["queue"])
        newest = by_end if newest is None else door.asked(newest=newest)["newest"]
        search = _Search(reading, query)
        most = LOOKS_MAX if search.reads else limit
        ids = reading.find(
            taken["states"], query.get("topic"), query.get("queue"), after, newest=newest, by_end=by_end, most=most + 1
        )
        items, last = list[Job](), -1
        for looks, job in enumerate(ids):
            if len(items) == limit or looks == most or not await search.can_go_on(job):
                return JobPage(tuple(items), last)
            last = job
            if (found := search.found(job)) is not None:
                items.append(found)
        return JobPage(tuple(items))

    async def _all(self, states: Iterable[JobState], query: JobQuery) -> AsyncIterator[tuple[Job, ...]]:
        if not query:
            raise RequestRefused("say which jobs, by queue, topic or anything else; `topic='**'` means all")
        after = -1
        while True:
            page = await self.find(states, after=after, limit=BATCH_MAX, order="added", newest=False, **query)
            if page.items:
                yield page.items
            if (after := page.after) < 0:
                return

    async def drop_all(self, reason: str = "", author: str = "", **query: Unpack[JobQuery]) -> int:
        """End all jobs that have not ended and fit the query, see ``JobQuery``; returns how many. See ``drop``."""
        many = 0
        async for jobs in self._all(OPEN, query):
            ids = tuple(job.id for job in jobs)
            many += len(await self._command(reason, author, drop=ids))
        return many

    async def remove_all(self, queue: str, reason: str = "", author: str = "") -> int:
        """Remove all jobs of the queue that have not ended, without a trace in the history; returns how many.

        Those that run are cancelled. Those that wait for them are dropped.
        """
        many = 0
        async for jobs in self._all(OPEN, JobQuery(queue=queue)):
            ids = tuple(job.id for job in jobs)
            many += len(await self._command(reason, author, drop=ids, forget=ids))
        return many

    async def forget(self, *jobs: int, reason: str = "", author: str = "") -> tuple[int, ...]:
        """Remove jobs that have ended from the history. Returns those that had ended."""
        return await self._command(reason, author, forget=jobs)

    async def statistics(self) -> JobStatistics:
        """What became of all jobs since the first one was added: by queue, topic and worker, and in all."""
        return statistics(await self._read())

    async def _command(self, reason: str, author: str, **command: Any) -> tuple[int, ...]:
        """Append the command; of the jobs that it is for, if any, return those for which it was in order."""
        jobs: tuple[int, ...] = ()
        for kind, content in command.items():
            if isinstance(content, tuple):
                command[kind] = jobs = door.asked(jobs=content)["jobs"] if content else ()
        said = door.asked(reason=reason, author=author or current_user())
        refused = await self._append(JobCommandMessage(**command, **said), said["author"])
        return tuple(job for job in jobs if job not in refused)


class _Search:
    """Judges jobs one after another; reads the records that added them, if the query is about what only these have."""

    def __init__(self, reading: JobReading, query: JobQuery) -> None:
        self._reading = reading
        self._where: tuple[tuple[Condition, ...], ...] = conditions(query.get("where", ()))
        self._wanted = {
            name: value for name, value in query.items() if name in ("lane", "creator", "title", "schedule")
        }
        self.reads = bool(self._where or self._wanted)
        self._left = RECORDS_MAX
        self._records: dict[int, Added] = {}

    async def can_go_on(self, job: int) -> bool:
        """Whether the next job can be judged."""
        if self.reads and (offset := offset_of(job)) not in self._records:
            if not self._left:
                return False
            self._left -= 1
            if len(self._records) == RECORDS_KEPT:
                del self._records[next(iter(self._records))]
            self._records[offset] = await self._reading.added(offset)
        return True

    def found(self, job: int) -> Job | None:
        """The job, if it is one of those that are searched for."""
        record, added = self._records[offset_of(job)] if self.reads else (None, None)
        if added is not None and self._where:  # most do not fit, so this comes first
            payload = decoded(added.payloads[place_of(job)])
            if not isinstance(payload, dict) or not any(
                all(each.holds(payload) for each in one) for one in self._where
            ):
                return None
        found = self._reading.summary(job)
        if found is None or record is None or added is None:
            return found
        found = self._reading.filled(found, record, added)
        return None if any(getattr(found, name) != value for name, value in self._wanted.items()) else found
