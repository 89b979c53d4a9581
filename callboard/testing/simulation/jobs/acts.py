"""What happens to simulated workers and jobs from outside, as data: a plan is a list of these acts."""

from dataclasses import dataclass
from typing import Any

from callboard.messages.jobs.job_messages import JobOptions, JobQueue


@dataclass(frozen=True, slots=True)
class Act:
    """An event at a moment of virtual time."""

    at_s: float


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that runs for ``run_s``, and fails in its first attempts, each time asking for a retry after ``delay_s``.

    It is due ``due_s`` after it is added, and waits for the jobs of the batches ``after``: 1 is the last one before its
    own, 2 the one before that, and 0 is what comes before it in its own. Its options get both. With ``later``,
    its function returns at once, and others do the work.
    """

    topic: str
    run_s: float
    fails: int = 0
    delay_s: float | None = None
    cancels: bool = False
    due_s: float = 0.0
    after: tuple[int, ...] = ()
    later: bool = False
    options: JobOptions | None = None


@dataclass(frozen=True, slots=True)
class Add(Act):
    """Add jobs in one record, which is on the log again after each of these times."""

    jobs: tuple[PlannedJob, ...]
    again_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Join(Act):
    """A worker with this name starts, if there is none."""

    worker: str
    slots: int
    patterns: tuple[str, ...]
    deny: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Strike(Act):
    """Something happens to a worker for ``seconds``: the ``verb`` is a method of ``Workers``."""

    verb: str
    worker: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Trouble(Act):
    """Something happens to the log: an ``outage`` of so many seconds, a ``jump`` of its clock, or an ``exchange`` for a
    copy with this share of its records.
    """

    verb: str
    amount: float


@dataclass(frozen=True, slots=True)
class Command(Act):
    """``stop`` or ``drop`` the job at this place among the open ones, or ``forget`` the one among all."""

    verb: str
    place: float


@dataclass(frozen=True, slots=True)
class Configure(Act):
    """A queue gets other settings."""

    queue: JobQueue


@dataclass(frozen=True, slots=True)
class Suspend(Act):
    """A queue, or else a schedule, is suspended for a while."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Schedule(Act):
    """A schedule is set: ticks by the ``rule``, of which ``catch_up`` are made up for; its ``at_ms`` is from now on."""

    name: str
    rule: dict[str, Any]
    catch_up: int
    unique: str
