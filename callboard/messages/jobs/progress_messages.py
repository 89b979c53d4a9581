"""What workers report on the jobs that they run."""

from dataclasses import dataclass

from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress(Event):
    """A report on a running job: steps done of ``steps``, the expected end, and what is new: lines of its log, of which
    ``said`` is the number by now, and a value ``saved`` for the next attempt. It counts if the worker has that
    ``lease`` and this is the latest ``number``.
    """

    job: int
    steps: int = 0
    step: int = 0
    eta_ms: int = 0
    lines: tuple[str, ...] = ()
    saved: bytes = b""
    lease: int = -1
    number: int = 0
    said: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsProgressedMessage(Event):
    """The progress of jobs that the worker runs."""

    worker: str
    progress: tuple[JobProgress, ...]
