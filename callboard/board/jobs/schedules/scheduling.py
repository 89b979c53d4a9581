"""The schedules of a board."""

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Unpack

from callboard.actors.jobs.rules.refusals import WHOLE
from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.actors.jobs.topics import matched
from callboard.board.connect.user import current_user
from callboard.board.jobs.methods import JobMethods
from callboard.board.jobs.new_job import NewJob, NewJobOptions, encoded
from callboard.board.jobs.schedules.schedule_state import ScheduleState, coming_ticks, schedule_state
from callboard.board.member.topology_view import TopologyView
from callboard.board.timers.timers import Timers
from callboard.door import jobs as jobs_door
from callboard.door import schedules as door
from callboard.door.names import meant
from callboard.errors import RequestRefused, Undecodable
from callboard.messages.jobs.job_messages import ScheduleCommandMessage, ScheduleMessage

NS_PER_MS = 1_000_000


class Scheduling(JobMethods):
    """The methods of ``BoardJobs`` for schedules. The dispatcher adds their jobs, so there must be a worker, of any
    topic.
    """

    async def schedule(
        self,
        name: str,
        topic: str,
        payload: object = None,
        *,
        cron: str | Iterable[str] = (),
        every_s: float | None = None,
        at: datetime | None = None,
        zone: str = "UTC",
        catch_up: str | int = "last",
        suspended: bool = False,
        author: str = "",
        **options: Unpack[NewJobOptions],
    ) -> ScheduleState:
        """Add a job at each tick of a schedule, which lasts until it is removed.

        A schedule set again under its name is replaced, and stays suspended if it was; set to the same again, nothing
        changes. To have no two of its jobs at a time, give a ``unique`` key, and no job is added while the last one is
        unfinished; or a ``lane``, and each waits for the one before.

        Args:
            name: of the schedule.
            topic: of its jobs.
            payload: of its jobs, up to 16 KB.
            cron: one or several expressions, such as ``"30 3 * * MON-FRI"``, or with seconds as a sixth field in
                front; see also ``daily`` and others. A time that clocks skip is a tick right after the gap, one that
                they show twice only the first time; with ``*`` for the hour, both hours count.
            every_s: or seconds between ticks, 1 or more, from now on.
            at: or the only tick, after which the schedule is removed. However late, it is made up for.
            zone: the time zone of ``cron``, and of ``at`` if that has none.
            catch_up: what becomes of ticks that passed while nothing could add their jobs: ``"last"`` makes up for the
                last one, a number for more of them, and ``"skip"`` for none, unless it is less than a minute late.
            suspended: whether it adds no jobs at first.
            author: who sets it; the user, if empty.
            **options: of the jobs, as in ``NewJob``, except ``delay_s``.

        Raises:
            RequestRefused: wrong arguments, such as a time that has passed.
        """
        given = jobs_door.new_job(topic=topic, payload=payload, **options)
        if {"delay_s", "after", "context"} & given.keys():
            raise RequestRefused("the jobs of a schedule are added at its ticks; leave out delay_s, after and context")
        jobs_door.asked(author=author)
        now_ms = self._board.now_ns() // NS_PER_MS
        fields = door.schedule(
            now_ms, name=name, cron=cron, every_s=every_s, at=at, zone=zone, catch_up=catch_up, suspended=suspended
        )
        message = ScheduleMessage(
            **fields, author=author or current_user(), topic=topic, payload=encoded(payload),
            options=NewJob(**given).options(0, 0),
        )  # fmt: skip
        try:
            refused = await self._append(message, message.author)
        except Undecodable as error:
            raise RequestRefused(str(error)) from error
        if refused:
            raise RequestRefused(refused[WHOLE])
        found = (await self._read()).jobs.schedules.get(name)
        return schedule_state(found or Schedule(message, suspended, now_ms), now_ms)  # its only tick may have been

    async def schedules(self, topic: str | None = None) -> tuple[ScheduleState, ...]:
        """The schedules, by name; all, or those for a topic or a pattern of topics."""
        jobs_door.asked(topic=topic)
        reading, now_ms = await self._read(), self._board.now_ns() // NS_PER_MS
        found = (its for its in reading.jobs.schedules if topic is None or matched(topic, its.message.topic))
        return tuple(schedule_state(its, now_ms) for its in sorted(found, key=lambda its: its.message.name))

    async def next_ticks(self, name: str, limit: int = 10) -> tuple[int, ...]:
        """When the next ticks of the schedule are, in milliseconds since the epoch; none while it is suspended.

        Raises ``RequestRefused`` if there is no such schedule, or what it needs is unknown here.
        """
        jobs_door.asked(schedule=name, limit=limit)
        its = await self._schedule(name)
        try:
            return tuple(islice(coming_ticks(its, self._board.now_ns() // NS_PER_MS), limit))
        except ValueError as error:
            raise RequestRefused(f"schedule {name!r} has no ticks: {error}") from error

    async def _schedule(self, name: str) -> Schedule:
        """The schedule. Raises ``RequestRefused`` if there is none of this name."""
        schedules = (await self._read()).jobs.schedules
        if (found := schedules.get(name)) is None:
            raise no_schedule(name, [each.message.name for each in schedules])
        return found

    async def unschedule(self, name: str, reason: str = "", author: str = "") -> bool:
        """Remove the schedule; jobs that it has added stay. Returns whether there was one."""
        return await self._change("remove", name, reason, author)

    async def suspend_schedule(self, name: str, reason: str = "", author: str = "") -> bool:
        """Have the schedule add no jobs until it is resumed. Returns whether there is one."""
        return await self._change("suspend", name, reason, author)

    async def resume_schedule(self, name: str, reason: str = "", author: str = "") -> bool:
        """Have the schedule add jobs again: for ticks from now on, or for its only one. Returns if there is one."""
        return await self._change("resume", name, reason, author)

    def timers(self, topology: Callable[[], TopologyView] | None = None) -> Timers:
        """Timers of this process, to be used in ``async with``; unlike schedules they are not stored.

        Args:
            topology: ``Member.topology`` of this process, if timers are to run on only one member, or on some.
        """
        jobs_door.asked(function=topology or Timers)
        return Timers(lambda: self._board.now_ns() // NS_PER_MS, topology)

    async def _change(self, kind: str, name: str, reason: str, author: str) -> bool:
        taken = jobs_door.asked(schedule=name, reason=reason, author=author or current_user())
        command = {kind: taken.pop("schedule")}
        return not await self._append(ScheduleCommandMessage(**command, **taken), taken["author"])


def no_schedule(name: str, known: Iterable[str]) -> RequestRefused:
    """The error for a name that no schedule has."""
    then = meant(name, known, "see `callboard schedules`")
    return RequestRefused(f"there is no schedule {name!r}; {then}", code="not_found")
