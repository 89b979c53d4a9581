"""The lines of plots, from samples: one point for each part of the time, so that few are drawn."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Self

from callboard.messages.distribution.topic_messages import BOUNDS_S
from callboard.web.console.plots.samples import Key, Points, Samples

POINTS_MAX = 150
"""Of a line: as many as are seen."""

GAP_PARTS = 2.5
"""After this many parts without a sample a line is interrupted."""

RATE_S = 60.0
"""Growth is counted over this time at least: what subscribers announce is up to 10 s old."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a plot, which is interrupted where it has no value (NaN)."""

    name: str
    points: Points

    @property
    def values(self) -> list[float]:
        """Those that are known."""
        return [value for _, value in self.points if not math.isnan(value)]


@dataclass(frozen=True, slots=True)
class Window:
    """The time that a plot shows, in seconds since the epoch."""

    start_s: float
    end_s: float

    @classmethod
    def until(cls, now_s: float, range_s: float) -> Self:
        """One that ends soon after this moment, and moves on when another point is drawn."""
        step_s = max(10.0, range_s / POINTS_MAX)
        end_s = math.ceil(now_s / step_s) * step_s
        return cls(end_s - range_s, end_s)

    def part_s(self, least_s: float) -> float:
        """How long a part is of which one point is drawn."""
        return max(least_s, (self.end_s - self.start_s) / POINTS_MAX)


def gauge(name: str, samples: Samples, key: Key, window: Window) -> Line:
    """The most in each part of the time, so that short peaks are seen."""
    part_s = window.part_s(samples.step_s)
    points = [(part[-1][0], _most(part)) for part in _parts(samples.since(key, window.start_s), part_s)]
    return _line(name, points, part_s, window)


def rate(name: str, samples: Samples, key: Key, window: Window) -> Line:
    """How much a counter grows in a minute."""
    part_s = window.part_s(max(RATE_S, samples.step_s))
    points = [(at_s, 60 * many / over_s) for at_s, over_s, many in _growth(samples, key, window, part_s)]
    return _line(name, points, part_s, window)


def percentiles(samples: Samples, keys: Iterable[Key], shares: Sequence[float], window: Window) -> list[Line]:
    """Of durations that were counted in the buckets of ``BOUNDS_S``: those that came in each part of the time."""
    part_s = window.part_s(max(RATE_S, samples.step_s))
    buckets = [_growth(samples, key, window, part_s) for key in keys]
    moments = [(parts[0][0], [many for _, _, many in parts]) for parts in zip(*buckets, strict=True)]
    return [
        _line(f"p{share * 100:g}", [(at_s, percentile(counts, share)) for at_s, counts in moments], part_s, window)
        for share in shares
    ]


def percentile(counts: Sequence[float], share: float) -> float:
    """The duration, in seconds, within which this share ended, as if each bucket were evenly filled; NaN if there are
    none. Of those above the last bound nothing more is known.
    """
    wanted, below = share * sum(counts), 0.0
    if not wanted > 0:
        return math.nan
    for bound_s, before_s, many in zip(BOUNDS_S, (0.0, *BOUNDS_S), counts, strict=False):
        if many and below + many >= wanted:
            return before_s + (bound_s - before_s) * (wanted - below) / many
        below += many
    return BOUNDS_S[-1]


def _growth(samples: Samples, key: Key, window: Window, part_s: float) -> list[tuple[float, float, float]]:
    """By moment: over how many seconds a counter has grown, and by how much; NaN after a gap."""
    last = [part[-1] for part in _parts(samples.since(key, window.start_s - part_s), part_s)]
    return [
        (at_s, at_s - then_s, value - before if at_s - then_s <= GAP_PARTS * part_s else math.nan)
        for (then_s, before), (at_s, value) in pairwise(last)
    ]


def _parts(points: Points, part_s: float) -> list[Points]:
    return [list(part) for _, part in groupby(points, key=lambda point: point[0] // part_s)]


def _most(part: Points) -> float:
    return max((value for _, value in part if not math.isnan(value)), default=math.nan)


def _line(name: str, points: Points, part_s: float, window: Window) -> Line:
    """The line, with NaN after each point that is followed by none for long, until the end of the window."""
    found = Points()
    for point, (next_s, _) in pairwise([*points, (window.end_s, math.nan)]):
        found.append(point)
        if next_s - point[0] > GAP_PARTS * part_s:
            found.append((point[0], math.nan))
    return Line(name, found)
