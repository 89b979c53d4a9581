"""All jobs that are not forgotten, in columns."""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress

from callboard.actors.jobs.snapshots.columns import unpack
from callboard.errors import Undecodable
from callboard.messages.jobs.job_messages import job_id
from callboard.messages.jobs.job_state import JobState

FORGOTTEN = 255
"""The state of a row that is no job (any more): compaction removes it."""

ROWS_MIN = 10_000
"""Fewer rows are not worth a compaction."""


CHUNK = 1 << 16
"""Rows that are searched at once: a page is mostly found in one of them."""


class JobTable:
    """One row of 32 bytes for each job, ordered by id. Rows move when others are forgotten, so keep ids, not rows.

    ``since_ms`` is when the job was added or, once it has ended, when it ended, in milliseconds since the epoch;
    ``ended_at`` is the offset of the record that ended it, or its last attempt if that failed.
    """

    def __init__(self) -> None:
        self.ids = array("Q")
        self.topics = array("I")
        self.states = array("B")
        self.attempts = array("H")
        self.crashes = array("B")
        self.since_ms = array("Q")
        self.ended_at = array("Q")
        self.counts: Counter[tuple[int, int]] = Counter()
        """How many jobs there are by topic and state."""
        self._forgotten = 0
        self._found = -1

    def __len__(self) -> int:
        return len(self.ids) - self._forgotten

    def add(self, offset: int, topics: Sequence[int], time_ms: int) -> None:
        """Append the jobs of the record at ``offset``, the newest, with these topics."""
        first, many = job_id(offset, 0), len(topics)
        self.ids.extend(range(first, first + many))
        self.topics.extend(topics)
        self.since_ms.extend([time_ms] * many)
        for column in (self.states, self.attempts, self.crashes, self.ended_at):
            column.frombytes(bytes(many * column.itemsize))
        for topic, more in Counter(topics).items():
            self.counts[topic, JobState.QUEUED] += more

    @property
    def columns(self) -> tuple["array[int]", ...]:
        """All columns, in the order in which snapshots have them."""
        return self.ids, self.topics, self.states, self.attempts, self.crashes, self.since_ms, self.ended_at

    @property
    def first(self) -> int:
        """The id of the oldest job, or a smaller one; -1 if there is none."""
        return next((job for job, state in zip(self.ids, self.states, strict=True) if state != FORGOTTEN), -1)

    def extend(self, columns: Sequence[bytes]) -> None:
        """Append rows of a snapshot; call ``recount`` after the last of them. Raises ``Undecodable``."""
        added = [unpack(mine.typecode, its) for mine, its in zip(self.columns, columns, strict=True)]
        if len({len(each) for each in added}) > 1:
            raise Undecodable("the columns of jobs have different lengths")
        for mine, its in zip(self.columns, added, strict=True):
            mine.extend(its)

    def recount(self) -> None:
        """Count the jobs that were appended."""
        if FORGOTTEN in self.states:
            self._compact()
        self.counts = Counter(zip(self.topics, self.states, strict=True))

    def count(self, topics: Iterable[int], *states: JobState) -> int:
        """How many jobs of these topics are in these states."""
        return sum(self.counts[topic, state] for topic in topics for state in states)

    def find(self, job: int) -> int:
        """The row of the job, or -1."""
        ids, row = self.ids, self._found + 1  # mostly, the next one is looked for
        if row >= len(ids) or ids[row] != job:
            row = bisect_left(ids, job)
            if row == len(ids) or ids[row] != job:
                return -1
        self._found = row
        return row if self.states[row] != FORGOTTEN else -1

    def change(self, row: int, state: JobState) -> None:
        """Set the state."""
        topic = self.topics[row]
        self.counts[topic, self.states[row]] -= 1
        self.counts[topic, state] += 1
        self.states[row] = state

    def forget(self, row: int) -> None:
        """Remove the job."""
        self.counts[self.topics[row], self.states[row]] -= 1
        self.states[row] = FORGOTTEN
        self._forgotten += 1
        if self._forgotten > max(ROWS_MIN, len(self.ids) // 2):
            self._compact()

    def having(self, states: Collection[int], after: int = -1, *, newest: bool = False) -> Iterator[int]:
        """The rows of jobs in these states, after this job in the order. The table must not change meanwhile."""
        marks = bytes(state in states for state in range(256))
        if newest:
            end = bisect_left(self.ids, after) if after >= 0 else len(self.ids)
            for last in range(end, 0, -CHUNK):
                first, at = max(0, last - CHUNK), last
                chunk = self.states[first:last].tobytes().translate(marks)
                while (at := chunk.rfind(1, 0, at)) >= 0:
                    yield first + at
            return
        for first in range(bisect_right(self.ids, after), len(self.ids), CHUNK):
            chunk, at = self.states[first : first + CHUNK].tobytes().translate(marks), -1
            while (at := chunk.find(1, at + 1)) >= 0:
                yield first + at

    def _compact(self) -> None:
        kept = [state != FORGOTTEN for state in self.states]
        self.ids = array("Q", compress(self.ids, kept))
        self.topics = array("I", compress(self.topics, kept))
        self.attempts = array("H", compress(self.attempts, kept))
        self.crashes = array("B", compress(self.crashes, kept))
        self.since_ms = array("Q", compress(self.since_ms, kept))
        self.ended_at = array("Q", compress(self.ended_at, kept))
        self.states = array("B", compress(self.states, kept))
        self._forgotten = 0
