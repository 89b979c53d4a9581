"""Jobs as metrics for Prometheus. Labels are queues and states, never a job's id."""

from collections.abc import Iterator, Sequence

from prometheus_client.core import Metric

from callboard.board.context import BoardContext
from callboard.board.jobs.health.report import WorkerState, oldest_s, worker_states
from callboard.board.jobs.methods import jobs_of
from callboard.board.jobs.queues import queue_states
from callboard.board.jobs.reading import JobReading
from callboard.board.read.status.families import family, single
from callboard.board.read.status.metrics import ROWS_MAX
from callboard.errors import OffsetOutOfRange, SchemaTooNew
from callboard.messages.jobs.job_state import ENDED


async def job_metrics(board: BoardContext) -> list[Metric]:
    """The metrics of jobs; none if there never was a job."""
    try:
        reading = await jobs_of(board)
    except (SchemaTooNew, OffsetOutOfRange):
        return list(single("jobs_problem", "1 while jobs cannot be read.", 1))
    live = [each for each in await worker_states(board, reading) if each.live]
    return list(_jobs(reading, live, board.now_ns() // 1_000_000)) if reading.jobs.topics else []


def _jobs(reading: JobReading, workers: Sequence[WorkerState], now_ms: int) -> Iterator[Metric]:
    queues, topics, labels = queue_states(reading)[:ROWS_MAX], reading.by_queue(), ("queue",)
    ages = oldest_s(reading, now_ms)
    now = [((each.name, state), getattr(each, state)) for each in queues for state in ("queued", "active", "parked")]
    text = "Jobs now; queued includes parked, which no worker runs."
    yield from family("jobs", text, ("queue", "state"), now)
    oldest = [((each.name,), ages.get(each.name, 0.0)) for each in queues]
    yield from family("jobs_oldest_seconds", "How long the oldest job has been waiting that could run.", labels, oldest)
    suspended = [((each.name,), each.suspended) for each in queues]
    yield from family("jobs_suspended", "1 while the queue starts no jobs.", labels, suspended)
    known = [(each.name, reading.jobs.tallies.together(topics[each.name])) for each in queues if each.topics]
    ended = [((name, state.name.lower()), getattr(its, state.name.lower())) for name, its in known for state in ENDED]
    yield from family("jobs_ended_total", "Jobs that have ended, since the first one.", ("queue", "state"), ended)
    for name, text, field, unit in (
        ("failed", "Attempts at jobs that have failed.", "failed", 1),
        ("started", "Jobs that have begun.", "started", 1),
        ("waited_seconds", "How long the jobs had waited that have begun, together.", "waited_ms", 1000),
        ("ran_seconds", "How long the jobs ran that succeeded, together.", "ran_ms", 1000),
    ):
        samples = [((queue,), getattr(its, field) / unit) for queue, its in known]
        yield from family(f"jobs_{name}_total", text, labels, samples)
    for name, text, value in (
        ("workers", "Workers that are live.", len(workers)),
        ("slots", "Jobs that the live workers run at a time.", sum(each.slots for each in workers)),
        ("dispatchers", "1 if a worker leases jobs to all.", sum(each.dispatches for each in workers)),
        ("schedules", "Schedules that are set.", len(reading.jobs.schedules)),
    ):
        yield from single(f"job_{name}", text, value)
