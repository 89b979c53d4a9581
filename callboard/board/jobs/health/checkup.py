"""The health of jobs, for ``callboard doctor``."""

from collections.abc import Iterator

from callboard.actors.jobs.schedules.schedules import Schedule
from callboard.actors.jobs.schedules.ticks import tick_after
from callboard.backends.examination import Finding, advice, ok, problem
from callboard.board.context import BoardContext
from callboard.board.jobs.health.report import oldest_s, worker_states
from callboard.board.jobs.methods import jobs_of
from callboard.board.jobs.queues import queue_states
from callboard.board.jobs.reading import JobReading
from callboard.board.jobs.schedules.schedule_state import schedule_state
from callboard.board.topology.wording import named
from callboard.errors import OffsetOutOfRange, SchemaTooNew

WAIT_S = 300.0
"""A job that is due waits for seconds unless there are too few slots."""

LATE_MS = 60_000
"""A tick is late by less, even if another worker has to take over; and so are clocks that differ."""


async def examine_jobs(board: BoardContext) -> list[Finding]:
    """Examine queues, workers and schedules; nothing if there never was a job or a schedule."""
    try:
        reading = await jobs_of(board)
    except (SchemaTooNew, OffsetOutOfRange) as error:
        return [problem(f"jobs cannot be read: {error}", "upgrade callboard here, or see `callboard log list`")]
    jobs = reading.jobs
    if not jobs.topics and not len(jobs.schedules):
        return []
    now_ms = board.now_ns() // 1_000_000
    queues, workers = queue_states(reading), await worker_states(board, reading)
    queued, active = sum(each.queued for each in queues), sum(each.active for each in queues)
    live = [each for each in workers if each.live]
    leads = next((each.instance for each in live if each.dispatches), "no one")
    summary = ok(f"jobs that wait: {queued}, that run: {active}; workers: {len(live)}; {leads} dispatches")
    if workers and (queued or active or len(jobs.schedules)) and not live:
        what = f"none of the workers is alive, or reaches the log: {named([each.instance for each in workers])}"
        fix = "see why, or start another: `callboard run worker`; then what waited goes on, and what ran is run again"
        return [problem(what, fix), *_waiting(reading, now_ms), summary]
    return [*_waiting(reading, now_ms), *_schedules(reading, now_ms), summary]


def _waiting(reading: JobReading, now_ms: int) -> Iterator[Finding]:
    all_topics = reading.jobs.topics
    if waits := reading.parked(range(len(all_topics))):
        topics = named(sorted(f"{all_topics[number]} ({many})" for number, many in waits.items()))
        yield problem(f"jobs wait that no worker runs: {topics}", "run a worker for them: `callboard run worker`")
    ages_s = oldest_s(reading, now_ms)
    for each in queue_states(reading):
        age_s = ages_s.get(each.name, 0.0)
        if each.suspended and each.queued:
            what = f"queue {each.name} is suspended; jobs that wait in it: {each.queued}"
            yield advice(what, "`callboard jobs resume`")
        elif age_s > WAIT_S and each.queued > each.parked:
            fix = "run more workers, or give them more slots; see its limits and `callboard jobs workers`"
            yield advice(f"in queue {each.name} a job has been due for {age_s:.0f} s", fix)


def _schedules(reading: JobReading, now_ms: int) -> Iterator[Finding]:
    states = [schedule_state(each, now_ms) for each in reading.jobs.schedules]
    if wrong := [f"{each.name}: {each.problem}" for each in states if each.problem]:
        fix = "install the time zones on the hosts of workers, or set the schedules again"
        yield problem(f"schedules have no ticks: {named(wrong)}", fix)
    if late := [each.message.name for each in reading.jobs.schedules if _is_late(each, now_ms)]:
        fix = "see the logs of the workers: the one that `callboard jobs workers` says dispatches adds their jobs"
        yield problem(f"schedules whose ticks are late by more than {LATE_MS // 1000} s: {named(late)}", fix)
    if ahead := [each.message.name for each in reading.jobs.schedules if each.last_ms > now_ms + LATE_MS]:
        fix = "synchronise the clocks of all hosts; `callboard schedules next` tells when they go on"
        yield advice(f"schedules whose last tick is yet to come, as a clock was set back: {named(ahead)}", fix)
    if states and not reading.jobs.workers:
        what = f"no worker carries out schedules: {named([each.name for each in states])}"
        yield problem(what, "run one, of any jobs: `callboard run worker`")


def _is_late(its: Schedule, now_ms: int) -> bool:
    """Whether a tick that is made up for was due long ago."""
    if its.suspended or not (its.message.catch_up or its.message.at_ms):
        return False
    try:
        due_ms = tick_after(its.message, its.base_ms, its.base_ms)
    except ValueError:
        return False  # it has no ticks, which is a problem of its own
    return due_ms is not None and due_ms + LATE_MS < now_ms
