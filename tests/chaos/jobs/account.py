"""What became of jobs: the records of their topic, compared with the effects of their runs."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JOB_MESSAGES,
    JobsEndedMessage,
    JobsLeasedMessage,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.jobs.job_state import JobState
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Unread, read
from tests.chaos.jobs.working_service import effects

Lease = tuple[int, int]
"""A job, and the number of the record that leased it."""


class Account:
    """Adds up the records of a job topic."""

    def __init__(self, folder: Path) -> None:
        with closing(effects(folder)) as database:
            self.runs: Counter[Lease] = Counter(database.execute("select job, lease from effects"))
            ((self.counter,),) = database.execute("select value from counter")
        self.jobs = Jobs()
        self.leased: dict[Lease, str] = {}
        self.ended: Counter[Lease] = Counter()
        self.instances: dict[str, str] = {}
        self.dismissed: set[str] = set()
        self.late = 0

    async def read(self, log: Log, topic: str) -> None:
        """Read the whole topic."""
        first, end = await log.bounds(topic)
        async for record in between(log, topic, first, end):
            message = read(record, JOB_MESSAGES, check_message)
            assert not isinstance(message, Unread), message
            at = At(record.offset, record.time_ns // 1_000_000)
            self._see(at, message, apply(self.jobs, at, message))

    def _see(self, at: At, message: Event, refused: dict[int, str]) -> None:
        match message:
            case WorkerMessage():
                self.instances[message.incarnation] = message.instance
            case JobsLeasedMessage() if -1 not in refused:
                for job, place in zip(message.jobs, message.worker_of, strict=True):
                    if job not in refused:
                        self.leased[job, at.lease] = message.workers[place]
            case WorkerGoneMessage() if message.cluster_log:
                self.dismissed.add(message.incarnation)
            case JobsEndedMessage():
                self.late += len(refused)
                self.ended.update(
                    each for each in zip(message.jobs, message.leases, strict=True) if each[0] not in refused
                )

    @property
    def repeated(self) -> list[Lease]:
        """Runs of jobs that were run once more."""
        return [lease for lease in self.runs if lease not in self.ended]

    def check(self, many: int, struck: set[str]) -> None:
        """All jobs have succeeded, each once, and only those of dismissed workers were run more than once."""
        table = self.jobs.table
        assert Counter(table.states) == {JobState.SUCCEEDED: many}, str(self)
        assert set(self.runs.values()) == {1}, f"a lease was run twice: {self}"
        assert self.runs.keys() <= self.leased.keys(), f"a job was run without a lease: {self}"
        assert set(self.ended.values()) == {1}, f"an outcome was applied twice: {self}"
        assert self.ended.keys() <= self.runs.keys(), f"a job ended that was not run: {self}"
        assert Counter(job for job, _ in self.ended) == dict.fromkeys(table.ids, 1), str(self)
        again = {self.leased[lease] for lease in self.repeated}
        assert again <= self.dismissed, f"jobs of workers that live were run once more: {self}"
        assert {self.instances[each] for each in again} <= struck, f"workers were dismissed unprovoked: {self}"
        assert self.counter == many, f"a fenced effect came twice, or never: {self}"

    def __str__(self) -> str:
        states = Counter(JobState(state).name for state in self.jobs.table.states)
        return (
            f"{len(self.jobs.table)} jobs, now {dict(states)}; {len(self.leased)} leases, {self.runs.total()} runs, "
            f"{len(self.repeated)} of them repeated, {self.counter} fenced effects, {self.late} late outcomes refused, "
            f"{len(self.dismissed)} workers dismissed"
        )
