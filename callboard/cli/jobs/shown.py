"""Jobs for people."""

import time
from collections.abc import Iterator

from callboard.board.envelope import written
from callboard.board.jobs import wording
from callboard.board.jobs.job import Job


def job_line(job: Job) -> str:
    """What it is, and its state."""
    return next(wording.job_lines(job, time.time() * 1000))


def job_lines(job: Job) -> Iterator[str]:
    """All that is known of the job."""
    yield from wording.job_lines(job, time.time() * 1000)
    for name in ("payload", "result"):
        if (value := getattr(job, name)) is not None:
            yield f"{name}: {written(value)}"
    if job.progress is not None:
        yield from (f"log: {line}" for line in job.progress.log)
