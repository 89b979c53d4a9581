"""Jobs for people, and as JSON."""

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from callboard.board.jobs import wording
from callboard.board.jobs.job import Job


def job_data(job: Job) -> dict[str, Any]:
    """The job as JSON; bytes as ``{"base64": ...}``."""
    return plain(asdict(job) | {"state": job.state.name.lower()})


def plain(data: dict[str, Any]) -> dict[str, Any]:
    """The fields as JSON."""
    return {name: _json(value) for name, value in data.items()}


def _json(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def job_line(job: Job) -> str:
    """What it is, and its state."""
    return next(wording.job_lines(job, time.time() * 1000))


def job_lines(job: Job) -> Iterator[str]:
    """All that is known of the job."""
    yield from wording.job_lines(job, time.time() * 1000)
    for name in ("payload", "result"):
        if (value := getattr(job, name)) is not None:
            yield f"{name}: {json.dumps(_json(value), ensure_ascii=False)}"
    if job.progress is not None:
        yield from (f"log: {line}" for line in job.progress.log)
