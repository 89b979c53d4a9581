"""A job, as people and programs see it."""

import json
from dataclasses import dataclass

from callboard.messages.jobs.job_state import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it was when it was read; it does not change.

    Attributes:
        id: unique on the log, growing in the order in which jobs are added.
        topic: what to do.
        queue: the queue that it belongs to by the present settings.
        state: see ``JobState``.
        payload: what was given; None if it was not read, in listings.
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
        result: what it returned; None for nothing.
        priority: as given.
        lane: as given.
        unique: as given.
        title: as given.
    """

    id: int
    topic: str
    queue: str
    state: JobState
    payload: object = None
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
    result: object = None
    priority: int = 0
    lane: str = ""
    unique: str = ""
    title: str = ""


def decoded(payload: bytes) -> object:
    """What was given as the payload or the result."""
    if not payload:
        return None
    try:
        return json.loads(payload)
    except ValueError:
        return payload
