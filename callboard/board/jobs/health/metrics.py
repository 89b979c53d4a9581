"""Jobs as metrics for Prometheus. Labels are queues and states, never a job's id."""

from collections.abc import Iterable, Iterator, Sequence

from callboard.board.context import BoardContext
from callboard.board.jobs.health.report import WorkerState, oldest_s, worker_states
from callboard.board.jobs.methods import jobs_of
from callboard.board.jobs.queues import queue_states
from callboard.board.jobs.reading import JobReading
from callboard.board.read.status.metrics import ROWS_MAX, family
from callboard.errors import OffsetOutOfRange, SchemaTooNew
from callboard.messages.jobs.job_state import ENDED


async def job_metrics(board: BoardContext) -> str:
    """The metrics of jobs; none if there never was a job."""
    try:
        reading = await jobs_of(board)
    except (SchemaTooNew, OffsetOutOfRange):
        lines: Iterable[str] = family("jobs_problem", "gauge", "1 while jobs cannot be read.", [({}, 1)])
    else:
        live = [each for each in await worker_states(board, reading) if each.live]
        lines = _lines(reading, live, board.now_ns() // 1_000_000) if reading.jobs.topics else ()
    return "".join(f"{line}\n" for line in lines)


def _lines(reading: JobReading, workers: Sequence[WorkerState], now_ms: int) -> Iterator[str]:
    queues, topics = queue_states(reading)[:ROWS_MAX], reading.by_queue()
    ages = oldest_s(reading, now_ms)
    now = [({"queue": each.name, "state": state}, getattr(each, state)) for each in queues
           for state in ("queued", "active", "parked")]  # fmt: skip
    yield from family("jobs", "gauge", "Jobs now; queued includes parked, which no worker runs.", now)
    oldest = [({"queue": each.name}, ages.get(each.name, 0.0)) for each in queues]
    yield from family("jobs_oldest_seconds", "gauge", "How long the oldest has been waiting that could run.", oldest)
    suspended = [({"queue": each.name}, each.suspended) for each in queues]
    yield from family("jobs_suspended", "gauge", "1 while the queue starts no jobs.", suspended)
    known = [(each.name, reading.jobs.tallies.together(topics[each.name])) for each in queues if each.topics]
    ended = [({"queue": name, "state": state.name.lower()}, getattr(its, state.name.lower()))
             for name, its in known for state in ENDED]  # fmt: skip
    yield from family("jobs_ended_total", "counter", "Jobs that have ended, since the first one.", ended)
    for name, text, field, unit in (
        ("failed", "Attempts that have failed.", "failed", 1),
        ("started", "Jobs that have begun.", "started", 1),
        ("waited_seconds", "What these had waited together.", "waited_ms", 1000),
        ("ran_seconds", "What those ran that succeeded.", "ran_ms", 1000),
    ):
        samples = [({"queue": queue}, getattr(its, field) / unit) for queue, its in known]
        yield from family(f"jobs_{name}_total", "counter", text, samples)
    for name, text, value in (
        ("workers", "Workers that are live.", len(workers)),
        ("slots", "Jobs that they run at a time.", sum(each.slots for each in workers)),
        ("dispatchers", "1 if a worker leases jobs to all.", sum(each.dispatches for each in workers)),
        ("schedules", "Schedules that are set.", len(reading.jobs.schedules)),
    ):
        yield from family(f"job_{name}", "gauge", text, [({}, value)])
