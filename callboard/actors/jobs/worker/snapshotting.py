"""When the dispatcher writes a snapshot, and which records no one needs any more."""

from collections.abc import Iterator

from callboard.actors.jobs.snapshots.loading import Parts
from callboard.actors.jobs.snapshots.search import Snapshot
from callboard.actors.jobs.snapshots.taking import parts
from callboard.errors import Undecodable
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import JobsSnapshotMessage, offset_of
from callboard.messages.reading import Unread
from callboard.messages.record import Record

COST_MIN = 1 << 20
"""Bytes of records that are read and applied in less than 0.1 s: fewer are not worth a snapshot."""

RECORD_COST = 1000
"""Reading and applying a record costs as much as that of this many bytes, apart from its own."""

ROW_COST, OPTIONS_COST, REQUEST_COST = 32, 200, 60
"""Bytes that a snapshot has of each, at most."""

KEEP_S = 600.0
"""How long records stay when no newcomer needs them: those who read them meanwhile, or know of a job that is forgotten
now, have finished then."""


class Snapshotting:
    """Has a snapshot written when the records since the last one cost more to read than it does. So a newcomer reads
    about twice a snapshot, and no more is written for snapshots than for all other records.
    """

    def __init__(self, begun: Snapshot) -> None:
        self._jobs, self._log_id = begun.jobs, begun.log_id
        self._cost = self._cost_before = 0
        self._writing: Iterator[JobsSnapshotMessage] | None = None
        self._complete: list[tuple[float, int]] = []  # when one was, and the first record needed from then on
        self._trimmed = -1
        self._parts = Parts(begun.log_id, keep=False)

    def see(self, record: Record, message: Event | Unread, now_s: float) -> None:
        """The record was applied."""
        if not isinstance(message, JobsSnapshotMessage):
            self._cost += RECORD_COST + len(record.payload)
            return
        if message.part == 0:
            self._cost_before = self._cost
        try:
            is_complete = self._parts.see(message)
        except Undecodable:
            return  # those who look for a snapshot say so
        if is_complete:
            self._cost -= self._cost_before
            needed, oldest = message.as_of + 1, self._jobs.table.first
            self._complete.append((now_s, needed if oldest < 0 else min(needed, offset_of(oldest))))
            while len(self._complete) > 1 and self._complete[1][0] + KEEP_S <= now_s:
                del self._complete[0]

    def next_part(self, as_of: int, writer: str) -> tuple[JobsSnapshotMessage, ...]:
        """What to append of a snapshot, if one is due; ``as_of`` is the last record that was applied."""
        if self._writing is None:
            its = self._jobs
            cost = ROW_COST * len(its.table.ids) + OPTIONS_COST * len(its.options) + REQUEST_COST * len(its.requests)
            if self._cost < max(COST_MIN, cost):
                return ()
            self._writing = parts(its, self._log_id, as_of, writer)
        part = next(self._writing)
        if part.parts:
            self._writing = None
        return (part,)

    def stop(self) -> None:
        """Write no more of the present snapshot, as another one dispatches."""
        self._writing = None

    def failed(self) -> None:
        """The append failed; the next snapshot is due as after a complete one, should it be this that fails."""
        self._writing, self._cost, self._cost_before = None, 0, 0

    def below(self, now_s: float) -> int:
        """The offset below which the topic is to be trimmed now; -1 if nothing is."""
        found = -1
        while self._complete and self._complete[0][0] + KEEP_S <= now_s:
            found = self._complete.pop(0)[1]
        if found <= self._trimmed:
            return -1
        self._trimmed = found
        return found
