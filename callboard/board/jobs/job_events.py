"""Follows what becomes of jobs."""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace

from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.lease import ORIGIN
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.telling import JobEvent, told
from callboard.actors.jobs.snapshots.search import SnapshotSearch
from callboard.actors.jobs.topics import matched
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.board.jobs.methods import JobMethods
from callboard.board.read.following import following
from callboard.door import jobs as door
from callboard.door.cursors import Place, cursor_at, place_of
from callboard.errors import RequestRefused, TopicMissing
from callboard.messages.jobs.job_messages import JOB_MESSAGES
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import understood
from callboard.messages.record import Record

LISTING = ("job events",)
"""What the cursors of events are for."""


class JobEvents(JobMethods):
    """The methods of ``BoardJobs`` that tell what became of jobs."""

    async def events(
        self,
        after: str | None = None,
        *,
        topic: str | None = None,
        kinds: Iterable[str] = (),
        job: int | None = None,
        follow: bool = True,
    ) -> AsyncGenerator[JobEvent, None]:
        """Follow what becomes of jobs, on any host: until the board closes or, without ``follow``, to the newest event.

        Args:
            after: the ``cursor`` of the last event seen; an empty text begins with the oldest that is known, None with
                events from now on.
            topic: a topic or a pattern of topics.
            kinds: such as ``"failed"``, see ``JobEvent``; all if not given.
            job: only this one.
            follow: whether to wait for more events at the end.

        Yields:
            Each event once, in the same order for all who ask.

        Raises:
            RequestRefused: wrong arguments; or what follows ``after`` was trimmed, with the oldest place there is.
            LogReplaced: the topic was replaced meanwhile.
            OffsetOutOfRange: records were trimmed before they were read.
        """
        if job is not None:
            door.asked(job=job)
        wanted = frozenset(door.asked(cursor=after, topic=topic, kinds=kinds, follow=follow)["kinds"])
        log = self._board.log
        try:
            bounds = TopicBounds(await log.identity(self._topic), *await log.bounds(self._topic))
        except TopicMissing:
            if not follow:
                return
            await log.ensure(self._topic)
            bounds = TopicBounds(await log.identity(self._topic), *await log.bounds(self._topic))
        jobs, start = await _oldest(log, self._topic, bounds)
        seen = _place(after, bounds, start)
        async for record in following(self._board, log, self._topic, bounds.log_id, start, follow=follow):
            events = _told(jobs, record)
            for place, event in enumerate(events, 1):
                is_new = (record.offset, place) > (seen.offset, int(seen.name or len(events)))
                is_wanted = (not wanted or event.kind in wanted) and job in (None, event.job)
                if is_new and is_wanted and (topic is None or matched(topic, event.topic)):
                    name = str(place) if place < len(events) else ""
                    yield replace(event, cursor=cursor_at(Place(record.offset, name), LISTING, bounds.log_id))

    async def history(self, job: int) -> tuple[JobEvent, ...]:
        """What became of the job, with who commanded it and why, as far as the log tells."""
        return tuple([event async for event in self.events("", job=job, follow=False)])


async def _oldest(log: Log, topic: str, bounds: TopicBounds) -> tuple[Jobs, int]:
    """The oldest jobs that can be known, and the first record after them."""
    if bounds.first <= ORIGIN:
        return Jobs(), bounds.first
    search = SnapshotSearch()
    search.place(bounds)
    async for record in between(log, topic, bounds.first, bounds.end):
        if (found := search.see(record)) is not None:
            return found.jobs, found.as_of + 1
    if bounds.first == bounds.end:
        return Jobs(), bounds.end
    raise RequestRefused("the first records of the job topic were removed, and no snapshot follows", code="gone")


def _place(after: str | None, bounds: TopicBounds, start: int) -> Place:
    """Up to where events were seen. Raises ``RequestRefused`` for a place before ``start``."""
    if not after:
        return Place((bounds.end if after is None else start) - 1)
    seen = place_of(after, LISTING, bounds.log_id, bounds.end)
    if seen.offset + (not seen.name) < start:
        oldest = cursor_at(Place(start - 1), LISTING, bounds.log_id)
        why = f"events up to offset {start - 1} were removed; the oldest that is known follows {oldest}"
        raise RequestRefused(why, code="gone")
    return seen


def _told(jobs: Jobs, record: Record) -> list[JobEvent]:
    message = understood(record, JOB_MESSAGES, check_message)
    return [] if message is None else told(jobs, At(record.offset, record.time_ns // 1_000_000), message)
