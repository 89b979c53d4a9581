"""The rules for schedules."""

from collections.abc import Iterator

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.refusals import WHOLE, Refusal
from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobsAddedMessage, ScheduleCommandMessage, ScheduleMessage

SCHEDULES_MAX = 100_000
"""Every reader keeps all of them in memory."""


def schedule(jobs: Jobs, at: At, said: ScheduleMessage) -> Iterator[Refusal]:
    """Set the schedule, unless it is set to just this."""
    known = jobs.schedules.get(said.name)
    if known is not None and _content(known.message) == _content(said):
        return
    if known is None and len(jobs.schedules) >= SCHEDULES_MAX:
        yield WHOLE, f"there are {SCHEDULES_MAX} schedules already; remove some of them"
        return
    suspended, last_ms = said.suspended, 0
    base_ms = at.ms
    if known is not None:
        suspended, last_ms = suspended or known.suspended, known.last_ms
        base_ms = at.ms if known.message.at_ms else max(at.ms, known.base_ms)
    if said.at_ms:  # a single tick is never missed, not even if its time passed before this was appended
        base_ms = said.at_ms - 1
    jobs.schedules.put(Schedule(said, suspended, base_ms, last_ms, at.offset))


def _content(said: ScheduleMessage) -> ScheduleMessage:
    return replaced(said, author="", suspended=False)


def tick(jobs: Jobs, added: JobsAddedMessage) -> Iterator[Refusal]:
    """The jobs of a tick are being added, unless they were, or the schedule has no ticks now."""
    name, its = added.schedule, jobs.schedules.get(added.schedule)
    if its is None:
        yield WHOLE, f"there is no schedule {name!r}"
    elif its.suspended:
        yield WHOLE, f"schedule {name!r} is suspended"
    elif added.schedule_set != its.set_at:
        yield (
            WHOLE,
            f"schedule {name!r} was changed by the record at offset {its.set_at}, which the dispatcher had not read",
        )
    elif added.tick_ms <= its.base_ms:
        yield WHOLE, f"schedule {name!r} has had its tick at {added.tick_ms}, or did not exist then"
    elif its.message.at_ms:
        jobs.schedules.remove(name)
    else:
        jobs.schedules.put(its._replace(base_ms=added.tick_ms, last_ms=added.tick_ms))


def command(jobs: Jobs, at: At, said: ScheduleCommandMessage) -> Iterator[Refusal]:
    """Carry out the command."""
    for name in filter(None, (said.suspend, said.resume, said.remove)):
        if jobs.schedules.get(name) is None:
            yield WHOLE, f"there is no schedule {name!r}"
    if (its := jobs.schedules.get(said.suspend)) is not None:
        jobs.schedules.put(its._replace(suspended=True))
    if (its := jobs.schedules.get(said.resume)) is not None and its.suspended:
        base_ms = its.base_ms if its.message.at_ms else at.ms
        jobs.schedules.put(its._replace(suspended=False, base_ms=base_ms, set_at=at.offset))
    jobs.schedules.remove(said.remove)
