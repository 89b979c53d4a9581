"""All jobs that are not forgotten, in columns."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

from callboard.messages.jobs.job_messages import job_id
from callboard.messages.jobs.job_state import JobState

FORGOTTEN = 255
"""The state of a row that is no job (any more): compaction removes it."""

ROWS_MIN = 10_000
"""Fewer rows are not worth a compaction."""


class JobTable:
    """One row of 32 bytes for each job, ordered by id. Rows move when others are forgotten, so keep ids, not rows.

    ``since_ms`` is when the job was added or, once it has ended, when it ended, in milliseconds since the epoch;
    ``ended_at`` is the offset of the record that ended it.
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

    def find(self, job: int) -> int:
        """The row of the job, or -1."""
        row = bisect_left(self.ids, job)
        known = row < len(self.ids) and self.ids[row] == job and self.states[row] != FORGOTTEN
        return row if known else -1

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

    def having(self, state: JobState) -> Iterator[int]:
        """The rows in this state, by id. The table must not change meanwhile."""
        states, row = self.states.tobytes(), -1
        while (row := states.find(state, row + 1)) >= 0:
            yield row

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
