"""What the console has read of the board over time: the figures that are plotted."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from callboard.messages.distribution.topic_messages import BOUNDS_S, DiscoveryMessage
from callboard.web.console.plots.samples import Key, Samples

if TYPE_CHECKING:
    from callboard.board.jobs.finding.statistics import JobFigures, JobStatistics
    from callboard.board.jobs.queues import QueueState
    from callboard.board.views import BoardStatus

FINE_S, COARSE_S = 10.0, 120.0
FINE_FOR_S, COARSE_FOR_S = 7200.0, 172_800.0

SUBSCRIBERS_MAX, QUEUES_MAX = 1000, 100
"""With figures of their own: first those that others wait for, and those furthest behind. All are in the totals."""

BUCKETS = len(BOUNDS_S) + 1


class History:
    """Samples of the last two hours, every 10 s, and of the last two days, every 2 min.

    At most 2500 series of 2221 samples, of 8 bytes each: 44 MB, and 36 MB with 1000 subscribers.
    """

    def __init__(self) -> None:
        self._fine = Samples(FINE_S, int(FINE_FOR_S / (FINE_S - 0.5)) + 1)
        self._coarse = Samples(COARSE_S, int(COARSE_FOR_S / (COARSE_S - 0.5)) + 1)
        self._imported, self._latencies = Growth(1), Growth(BUCKETS)
        self.since_s = 0.0
        """The moment of the first sample, in seconds since the epoch; 0 if there is none."""

    def is_due(self, time_s: float) -> bool:
        """Whether the next sample may be taken."""
        return self._fine.is_due(time_s)

    def take(
        self,
        time_s: float,
        status: "BoardStatus",
        queues: "Sequence[QueueState]",
        jobs: "JobStatistics",
        announced: Iterable[DiscoveryMessage],
    ) -> None:
        """Add a sample of the board as it is at this moment."""
        values = _totals(status, jobs)
        [values["imported", ""]] = self._imported.grown({row.name: (row.imported,) for row in status.subscribers})
        latencies = {said.subscriber: said.latencies.counts[:BUCKETS] for said in announced if said.latencies}
        values |= {("latency", str(place)): many for place, many in enumerate(self._latencies.grown(latencies))}
        values |= _each_queue(queues, jobs)
        values |= _each_subscriber(status)
        if not self.since_s or time_s < self.since_s:
            self.since_s = time_s
        for samples in (self._fine, self._coarse):
            if samples.is_due(time_s):
                samples.add(time_s, values)

    def samples(self, range_s: float) -> Samples:
        """Those that reach back this far."""
        return self._fine if range_s <= FINE_FOR_S else self._coarse

    def per_minute(self, key: Key, now_s: float, over_s: float = 120.0) -> float | None:
        """How much a counter has grown lately; None if that is not known."""
        found = [each for each in self._fine.since(key, now_s - over_s) if not math.isnan(each[1])]
        if len(found) < 2:
            return None
        (start_s, first), (end_s, last) = found[0], found[-1]
        return 60 * (last - first) / (end_s - start_s)


class Growth:
    """Adds up counters that many have: they come and go, and begin at 0 again when their process does."""

    def __init__(self, counters: int) -> None:
        self._totals = [0] * counters
        self._before: dict[str, tuple[int, ...]] = {}

    def grown(self, now: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """How much all have grown since the first call. What is seen for the first time has not."""
        for name, counts in now.items():
            before = self._before.get(name, counts)
            if sum(counts) < sum(before):
                before = ()
            for place, many in enumerate(counts):
                self._totals[place] += max(0, many - (before[place] if place < len(before) else 0))
        self._before = dict(now)
        return tuple(self._totals)


def _totals(status: "BoardStatus", jobs: "JobStatistics") -> dict[Key, float]:
    known = [row.lag_packages for row in status.subscribers if row.counts and row.lag_packages >= 0]
    return {("lag", ""): sum(known), **_counted("", jobs.total)}


def _counted(queue: str, its: "JobFigures") -> dict[Key, float]:
    """The counters of a queue. Jobs that were added wait, run, or have ended."""
    ended = its.succeeded + its.stopped + its.given_up + its.error + its.dropped
    return {
        ("queued", queue): its.queued, ("active", queue): its.active,
        ("ended", queue): ended, ("added", queue): its.queued + its.active + ended,
    }  # fmt: skip


def _each_queue(queues: "Sequence[QueueState]", jobs: "JobStatistics") -> dict[Key, float]:
    values = dict[Key, float]()
    kept = sorted(queues, key=lambda its: -its.queued - its.active)[:QUEUES_MAX]
    for each in kept:
        values["parked", each.name] = each.parked
        if (its := jobs.queues.get(each.name)) is not None:
            values |= _counted(each.name, its)
    values["parked", ""] = sum(each.parked for each in queues)
    return values


def _each_subscriber(status: "BoardStatus") -> dict[Key, float]:
    values = dict[Key, float]()
    kept = sorted(status.subscribers, key=lambda row: (not row.counts, -row.lag_packages))[:SUBSCRIBERS_MAX]
    for row in kept:
        values["offset", row.name] = row.offset
        if row.lag_packages >= 0 and not row.uncounted:
            values["lag", row.name] = row.lag_packages
    return values
