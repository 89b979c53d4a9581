"""Jobs for people."""

import time
from collections.abc import Iterator

from callboard.board.envelope import written
from callboard.board.jobs.job import Job, Progress
from callboard.units import age


def state_words(job: Job) -> str:
    """The state, and what it waits for."""
    words = [job.state.name.lower()]
    if job.parked:
        words.append("no worker runs its topic")
    if (left_s := job.due_ms / 1000 - time.time()) > 0:
        words.append(f"due in {age(left_s)}")
    if job.waits_for:
        words.append(f"waits for {job.waits_for} job{'s' * (job.waits_for > 1)}")
    if job.stopping:
        words.append("stopping")
    return ", ".join(words)


def since(ms: int) -> str:
    """How long ago that was; nothing for 0."""
    return age(time.time() - ms / 1000) if ms else ""


def job_line(job: Job) -> str:
    """What it is, and its state."""
    return f"job {job.id}, {job.topic}: {state_words(job)}"


def job_lines(job: Job) -> Iterator[str]:
    """All that is known of the job."""
    yield job_line(job)
    yield f"queue {job.queue}; added {since(job.created_ms)} ago by {job.creator}"
    if job.worker:
        yield f"runs on {job.worker}"
    if job.ended_ms:
        yield f"ended {since(job.ended_ms)} ago"
    if job.attempts or job.crashes:
        yield f"failed attempts: {job.attempts}; crashed workers: {job.crashes}"
    if job.progress is not None:
        yield from _progress_lines(job.progress)
    for name in ("title", "priority", "lane", "unique", "message"):
        if value := getattr(job, name):
            yield f"{name}: {value}"
    for name in ("payload", "result"):
        if (value := getattr(job, name)) is not None:
            yield f"{name}: {written(value)}"


def _progress_lines(progress: Progress) -> Iterator[str]:
    if progress.steps:
        yield f"step {progress.step} of {progress.steps}"
    if (left_s := progress.eta_ms / 1000 - time.time()) > 0:
        yield f"expected to end in {age(left_s)}"
    yield from (f"log: {line}" for line in progress.log)
