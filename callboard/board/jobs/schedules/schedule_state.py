"""A schedule, as people and programs see it."""

from collections.abc import Iterator
from dataclasses import dataclass

from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.actors.jobs.schedules.ticks import tick_after
from callboard.board.jobs.job import decoded
from callboard.board.jobs.new_job import NewJob
from callboard.messages.jobs.job_messages import JobOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """A schedule as it was when it was read.

    Attributes:
        name: of the schedule.
        job: what each tick adds.
        cron: expressions, as given.
        every_s: seconds between ticks; 0 if that is not its rule.
        at_ms: its only tick, milliseconds since the epoch; 0 if that is not its rule.
        zone: the time zone of the expressions.
        catch_up: how many missed ticks are made up for.
        suspended: whether it adds no jobs.
        next_ms: the next tick, milliseconds since the epoch; 0 if there is none.
        last_ms: the last one; 0 if there was none yet.
        author: who set it.
        problem: why there are no ticks, if a zone or an expression is unknown here.
    """

    name: str
    job: NewJob
    cron: tuple[str, ...] = ()
    every_s: float = 0.0
    at_ms: int = 0
    zone: str = "UTC"
    catch_up: int = 1
    suspended: bool = False
    next_ms: int = 0
    last_ms: int = 0
    author: str = ""
    problem: str = ""


def schedule_state(its: Schedule, now_ms: int) -> ScheduleState:
    """The schedule, as seen at this time."""
    said, next_ms, problem = its.message, 0, ""
    try:
        next_ms = next(coming_ticks(its, now_ms), 0)
    except ValueError as error:
        problem = str(error)
    return ScheduleState(
        name=said.name, job=scheduled(its), cron=said.cron, every_s=said.every_ms / 1000, at_ms=said.at_ms,
        zone=said.zone, catch_up=said.catch_up, suspended=its.suspended, next_ms=next_ms, last_ms=its.last_ms,
        author=said.author, problem=problem,
    )  # fmt: skip


def scheduled(its: Schedule) -> NewJob:
    """The job that each tick adds."""
    said = its.message
    return NewJob.of(said.topic, decoded(said.payload), said.options or JobOptions(job=0))


def coming_ticks(its: Schedule, now_ms: int) -> Iterator[int]:
    """The ticks from now on, one after another. Raises ``ValueError`` if a zone or an expression is unknown here."""
    said = its.message
    tick_ms = None if its.suspended else its.base_ms if said.at_ms else max(its.base_ms, now_ms)
    while tick_ms is not None and (tick_ms := tick_after(said, its.base_ms, tick_ms)) is not None:
        yield tick_ms
