"""A job, as people and programs see it."""

import json
from dataclasses import dataclass
from typing import Any

from callboard.actors.jobs.reports import Report
from callboard.messages.jobs.job_state import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a job has reported on its present attempt, or the last one. It is kept of the 1000 that ended last.

    Attributes:
        steps: how many there are; 0 if that is not known.
        step: how many are done.
        eta_ms: when it expects to end, milliseconds since the epoch; 0 if that is not known.
        log: the last 100 lines; if there were others before, the first of these says so.
    """

    steps: int = 0
    step: int = 0
    eta_ms: int = 0
    log: tuple[str, ...] = ()


def progress_of(report: Report | None) -> Progress | None:
    """The progress; None if nothing was reported."""
    if report is None:
        return None
    cut = report.said - len(report.lines)
    marker = (f"({cut} earlier lines were cut)",) * (cut > 0)
    return Progress(steps=report.steps, step=report.step, eta_ms=report.eta_ms, log=marker + report.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it was when it was read; it does not change.

    Attributes:
        id: unique on the log, growing in the order in which jobs are added.
        topic: what to do.
        queue: the queue that it belongs to by the present settings.
        state: see ``JobState``.
        payload: what was given, as JSON has it; None if it was not read, in listings.
        creator: the instance that added it.
        created_ms: when it was added, milliseconds since the epoch.
        due_ms: when it is due, or its retry is; 0 for now.
        ended_ms: when it ended; 0 if it has not.
        attempts: that have failed.
        crashes: workers that have crashed while they ran it.
        worker: the instance that runs it; empty if none does.
        parked: whether it waits because no worker runs its topic.
        stopping: whether it runs, and is to stop.
        message: what the last attempt said; None if it was not read.
        result: what it returned, likewise; None for nothing.
        priority: as given.
        lane: as given.
        unique: as given.
        title: as given.
        schedule: the one that added it; empty if none did, and in listings.
        after: the jobs that it waits for; empty if they were not read, in listings.
        waits_for: how many of them have not ended.
        progress: what it has reported; None for nothing.
    """

    id: int
    topic: str
    queue: str
    state: JobState
    payload: Any = None
    creator: str = ""
    created_ms: int = 0
    due_ms: int = 0
    ended_ms: int = 0
    attempts: int = 0
    crashes: int = 0
    worker: str = ""
    parked: bool = False
    stopping: bool = False
    message: str = ""
    result: Any = None
    priority: int = 0
    lane: str = ""
    unique: str = ""
    title: str = ""
    schedule: str = ""
    after: tuple[int, ...] = ()
    waits_for: int = 0
    progress: Progress | None = None


def decoded(payload: bytes) -> object:
    """What was given as the payload or the result."""
    if not payload:
        return None
    try:
        return json.loads(payload.decode())
    except (ValueError, RecursionError):
        return payload
