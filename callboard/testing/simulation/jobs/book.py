"""What the oracle knows of one job."""

from dataclasses import dataclass
from typing import Any

from callboard.messages.jobs.job_messages import JobOptions
from callboard.messages.jobs.job_state import JobState


@dataclass(slots=True)
class Book:
    """What is known of a job. It waits ``since`` an offset, and not before ``due_ms``; ``lease`` is its last one."""

    topic: str
    payload: dict[str, Any]
    options: JobOptions
    since: int
    due_ms: int
    before: tuple[int, ...] = ()
    """The jobs that it waits for."""
    state: JobState = JobState.QUEUED
    worker: str = ""
    lease: int = -1
    attempts: int = 0
    retries: int = 0
    """At its last attempt."""
    crashes: int = 0
    begun: bool = False
    """Whether the log has that it runs; only then a crash counts."""
    stopping: bool = False
    saved: bytes = b""
    given: bytes = b""
    """What was saved before it was leased."""
    commanded: bool = False
    forgotten: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return not self.state.is_final

    def waits(self, since: int, due_ms: int = 0) -> None:
        """It waits again."""
        self.state, self.worker, self.since, self.due_ms = JobState.QUEUED, "", since, due_ms

    def ends(self, state: JobState) -> None:
        """It has ended."""
        self.state, self.worker = state, ""
