"""Jobs and schedules in words, for people."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from callboard.actors.jobs.rules.telling import JobEvent
from callboard.actors.jobs.schedules.ticks import zone_of
from callboard.board.jobs.health.report import WorkerState
from callboard.board.jobs.job import Job, Progress
from callboard.board.jobs.schedules.schedule_state import ScheduleState
from callboard.units import age


def state_words(job: Job, now_ms: float) -> str:
    """The state, and what it waits for."""
    words = [job.state.name.lower()]
    if job.parked:
        words.append("no worker runs its topic")
    if (left_s := (job.due_ms - now_ms) / 1000) > 0:
        words.append(f"due in {age(left_s)}")
    if job.waits_for:
        words.append(f"waits for {job.waits_for} job{'s' * (job.waits_for > 1)}")
    if job.stopping:
        words.append("stopping")
    return ", ".join(words)


def since(ms: int, now_ms: float) -> str:
    """How long ago that was; nothing for 0."""
    return age((now_ms - ms) / 1000) if ms else ""


def job_lines(job: Job, now_ms: float) -> Iterator[str]:
    """What is known of the job, but for its payload, its result and its log."""
    yield f"job {job.id}, {job.topic}: {state_words(job, now_ms)}"
    yield f"queue {job.queue}; added {since(job.created_ms, now_ms)} ago by {job.creator}"
    if job.worker:
        yield f"runs on {job.worker}"
    if job.ended_ms:
        yield f"ended {since(job.ended_ms, now_ms)} ago"
    if job.attempts or job.crashes:
        yield f"failed attempts: {job.attempts}; crashed workers: {job.crashes}"
    if job.progress is not None:
        yield from _progress_lines(job.progress, now_ms)
    for name in ("title", "priority", "lane", "unique", "message"):
        if value := getattr(job, name):
            yield f"{name}: {value}"


def _progress_lines(progress: Progress, now_ms: float) -> Iterator[str]:
    if progress.steps:
        yield f"step {progress.step} of {progress.steps}"
    if (left_s := (progress.eta_ms - now_ms) / 1000) > 0:
        yield f"expected to end in {age(left_s)}"


def event_words(event: JobEvent, clock: Callable[[int], str]) -> str:
    """What became of a job, where, by whom and why; ``clock`` writes a time in milliseconds since the epoch."""
    parts = (
        event.kind, f"attempt {event.attempt}" * bool(event.attempt), f"on {event.worker}" * bool(event.worker),
        f"by {event.author}" * bool(event.author), f"due at {clock(event.due_ms)}" * bool(event.due_ms),
    )  # fmt: skip
    return ", ".join(filter(None, parts)) + "".join(f": {text}" for text in (event.message, event.reason) if text)


def worker_topics(its: WorkerState) -> str:
    """What it runs, and what it does not run after all."""
    return " ".join((*its.topics, *(f"not {topic}" for topic in its.deny)))


def rule_words(its: ScheduleState) -> str:
    """When the ticks of a schedule are."""
    if its.at_ms:
        return "once"
    return f"every {its.every_s:g} s" if its.every_s else f"{'; '.join(its.cron)} ({its.zone})"


def on_clocks(ms: int, zone: str) -> str:
    """The time on clocks in the zone, or in UTC if that is unknown here; nothing for 0."""
    try:
        there = zone_of(zone)
    except ValueError:
        there = UTC
    return datetime.fromtimestamp(ms / 1000, there).isoformat(" ", "seconds") if ms else ""
