"""Finds a complete snapshot, mostly at the end of the topic."""

from collections.abc import Iterable
from typing import NamedTuple

from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.lease import ORIGIN
from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.snapshots.loading import Parts, loaded
from callboard.errors import Undecodable
from callboard.messages.jobs.job_messages import JobsSnapshotMessage
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Unread, read
from callboard.messages.record import Record

RANGE = 100
"""Offsets at the end of the topic in which a snapshot is looked for at first: they may have 100 MB."""

GROWTH = 8
"""How many times as many are read next. The records read in vain are a seventh of all."""


class Snapshot(NamedTuple):
    """The jobs after the record at ``as_of`` of this incarnation of the topic."""

    log_id: str
    as_of: int
    jobs: Jobs


class SnapshotSearch:
    """Looks for a snapshot in the records from ``place`` to the end of the topic, which its owner reads; if there is
    none, and ``widen`` says that there are more, in these.
    """

    def __init__(self) -> None:
        self.bounds = TopicBounds("", -1, -1)
        self._skipped: list[str] = []
        self._offsets, self._begun_at = RANGE, -1

    def place(self, bounds: TopicBounds) -> int:
        """Where to read from."""
        self.bounds = bounds
        self._parts = Parts(bounds.log_id)
        start = bounds.end - self._offsets
        self._start = max(bounds.first, self._begun_at if 0 <= self._begun_at < start else start)
        return self._start

    @property
    def is_needless(self) -> bool:
        """Whether all records there ever were are so few that they are read at once."""
        return self._start == self.bounds.first <= ORIGIN and self.bounds.end - self._start <= RANGE

    def first_of(self, records: Iterable[Record]) -> Snapshot | None:
        """The first snapshot that is complete with one of these records."""
        return next((found for found in map(self.see, records) if found is not None), None)

    def see(self, record: Record) -> Snapshot | None:
        """The snapshot that is complete with this record."""
        if record.header("type") != JobsSnapshotMessage.__name__:
            return None
        said = read(record, (JobsSnapshotMessage,), check_message)
        if isinstance(said, Unread) or not self.bounds.first <= said.as_of + 1 <= record.offset:
            self._skip(record, "it cannot be read, or what follows it is gone")
            return None
        if said.part and not self._parts.has_begun(said):
            self._begun_at = said.as_of + 1
        try:
            if self._parts.see(said):
                return Snapshot(self.bounds.log_id, said.as_of, loaded(self._parts.contents))
        except Undecodable as error:
            self._skip(record, str(error))
        return None

    def widen(self) -> bool:
        """There is no snapshot in these records; returns whether there are more to look at."""
        if self._start <= self.bounds.first:
            return False
        if not 0 <= self._begun_at < self._start:
            self._offsets = max(self._offsets, self.bounds.end - self._start) * GROWTH
        return True

    def told(self) -> list[str]:
        """Why snapshots were not believed; each is told once."""
        told, self._skipped = self._skipped, []
        return told

    def _skip(self, record: Record, why: str) -> None:
        self._skipped.append(f"the snapshot at offset {record.offset} is not believed: {why}")
