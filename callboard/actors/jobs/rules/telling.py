"""What a record did to jobs, one after another: for all readers the same, as the rules are."""

from collections.abc import Iterator
from dataclasses import dataclass

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    Outcome,
    WorkerGoneMessage,
    job_id,
)
from callboard.messages.jobs.job_state import ENDED, JobState
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage

KINDS = (
    "added", "started", "progressed", "failed", "returned", "stopping",
    *(state.name.lower() for state in ENDED), "removed",
)  # fmt: skip
"""What can become of a job. One that ``failed`` is tried again; one ``returned`` waits, and has lost no attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """Something that became of a job.

    Attributes:
        kind: added, started, progressed, failed (it is tried again), returned (its worker gave it back, or has gone),
            stopping (it was told to stop), removed (from the history); or how it ended: succeeded, stopped, given_up,
            error, dropped.
        job: its id.
        topic: of the job.
        offset: of the record that did it.
        time_ms: of the record, milliseconds since the epoch.
        worker: the instance that ran it; empty if none did.
        attempt: counts from 1; 0 if there was none.
        message: what the attempt said, or the last line of its progress.
        due_ms: when the next attempt is due, for ``failed``.
        author: who commanded it, or added the job.
        reason: of the command.
        cursor: its place, for ``after``.
    """

    kind: str
    job: int
    topic: str
    offset: int
    time_ms: int
    worker: str = ""
    attempt: int = 0
    message: str = ""
    due_ms: int = 0
    author: str = ""
    reason: str = ""
    cursor: str = ""


def told(jobs: Jobs, at: At, message: Event) -> list[JobEvent]:
    """Apply the next record's message, and tell what it did."""
    return list(_Telling(jobs, at, message).events())


class _Telling:
    """One record: what was before it, and what is after it."""

    def __init__(self, jobs: Jobs, at: At, message: Event) -> None:
        self._jobs, self._at, self._message = jobs, at, message
        self._names = {name: worker.instance for name, worker in jobs.workers.items()}
        self._forgotten = {job: self._topic(job) for job in getattr(message, "forget", ())}
        self._held = {job: jobs.leases[job] for job in getattr(message, "drop", ()) if job in jobs.leases}
        self._left = set(jobs.leased_to.get(getattr(message, "incarnation", ""), ()))
        stopping = {job for job in getattr(message, "stop", ()) if job in jobs.stopping}
        jobs.changed = []
        self._refused = apply(jobs, at, message)
        self._changed, jobs.changed = jobs.changed, None
        self._stopping = [job for job in getattr(message, "stop", ()) if job in jobs.stopping - stopping]

    def events(self) -> Iterator[JobEvent]:
        """What became of jobs, in the order of the rule."""
        jobs, said = self._jobs, self._message
        match said:
            case JobsAddedMessage():
                added = (job_id(self._at.offset, place) for place in range(len(said.payloads)))
                yield from (self._event("added", job, author=said.creator) for job in added if self._topic(job))
            case JobsLeasedMessage():
                for job, place in zip(said.jobs, said.worker_of, strict=True):
                    if jobs.leased_to.get(said.workers[place], {}).get(job) == self._at.lease:
                        yield self._event("started", job, said.workers[place])
            case JobsProgressedMessage():
                yield from (self._progressed(its, said.worker) for its in said.progress if self._has(said.worker, its))
            case JobCommandMessage():
                yield from (self._event("stopping", job, jobs.leases[job]) for job in self._stopping)
        yield from self._attempts()
        for job, topic in self._forgotten.items():
            if topic and not self._topic(job):
                yield self._event("removed", job, topic=topic)

    def _has(self, worker: str, its: JobProgress) -> bool:
        return self._jobs.leases.get(its.job) == worker and its.job not in self._refused

    def _progressed(self, its: JobProgress, worker: str) -> JobEvent:
        steps = f"{its.step} of {its.steps}" if its.steps else ""
        return self._event("progressed", its.job, worker, message=": ".join(filter(None, (steps, *its.lines[-1:]))))

    def _attempts(self) -> Iterator[JobEvent]:
        """The ends of jobs, and of attempts."""
        said = self._message
        ended = said if isinstance(said, JobsEndedMessage) else None
        places = {job: place for place, job in reversed(tuple(enumerate(ended.jobs)))} if ended else {}
        messages = {end.job: end.message for end in ended.ends} if ended else {}
        for job, state in self._changed:
            if ended and (place := places.get(job, -1)) >= 0:
                failed = ended.outcomes[place] == Outcome.FAILED
                yield self._ended(job, state, ended.worker, messages.get(place, ""), failed=failed)
            elif isinstance(said, WorkerGoneMessage) and job in self._left:
                yield self._ended(job, state, said.incarnation, "its worker has gone")
            else:
                is_void = state is JobState.DROPPED and job not in getattr(said, "drop", ())
                text = "a job for which it waited has not succeeded" if is_void else ""
                yield self._ended(job, state, self._held.get(job, ""), text)

    def _ended(self, job: int, state: JobState, worker: str, text: str, *, failed: bool = False) -> JobEvent:
        """The end of the job, or of an attempt."""
        kind = state.name.lower() if state.is_final else "failed" if failed else "returned"
        due_ms = self._jobs.waiting.due_ms(job) if kind == "failed" else 0
        return self._event(kind, job, worker, message=text, due_ms=due_ms, counted=failed)

    def _event(
        self, kind: str, job: int, worker: str = "", *, topic: str = "", message: str = "", due_ms: int = 0,
        author: str = "", counted: bool = False,
    ) -> JobEvent:  # fmt: skip
        """An event; ``counted`` if the job's failed attempts include this one."""
        said, table, row = self._message, self._jobs.table, self._jobs.table.find(job)
        attempt = table.attempts[row] + (bool(worker) and not counted) if row >= 0 else 0
        topic = topic or self._topic(job) or self._forgotten.get(job, "")
        return JobEvent(
            kind=kind, job=job, topic=topic, offset=self._at.offset, time_ms=self._at.ms,
            worker=self._names.get(worker, worker), attempt=attempt, message=message, due_ms=due_ms,
            author=author or getattr(said, "author", ""), reason=getattr(said, "reason", ""),
        )  # fmt: skip

    def _topic(self, job: int) -> str:
        """The topic of the job; empty if there is no such job."""
        row = self._jobs.table.find(job)
        return self._jobs.topics[self._jobs.table.topics[row]] if row >= 0 else ""
