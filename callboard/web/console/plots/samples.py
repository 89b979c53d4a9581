"""Samples of many series at the same moments, in memory."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping

Key = tuple[str, str]
"""A figure, and what it is of: ``("lag", "berlin")``; empty for all together."""

Points = list[tuple[float, float]]
"""Moments in seconds since the epoch, and values; NaN where there was none."""

SLACK_S = 0.5
"""A sample may come this much early, since readings and clocks are not exact."""

SERIES_MAX = 2500
"""Room for the position and the lag of 1000 subscribers, the queues of jobs and all totals: 8 bytes a value."""


class Samples:
    """The newest ``most`` samples, ``step_s`` apart; a longer time between two of them is a gap."""

    def __init__(self, step_s: float, most: int) -> None:
        self.step_s = step_s
        self._most = most
        self._times = array("d")
        self._series: dict[Key, array[float]] = {}

    def is_due(self, time_s: float) -> bool:
        """Whether the next sample may be added."""
        return not self._times or not 0 <= time_s - self._times[-1] < self.step_s - SLACK_S

    def add(self, time_s: float, values: Mapping[Key, float]) -> None:
        """Add a sample. If the clock was set back, all that were before are forgotten."""
        if self._times and time_s <= self._times[-1]:
            self._times, self._series = array("d"), {}
        for key in [key for key in values if key not in self._series][: SERIES_MAX - len(self._series)]:
            self._series[key] = array("d", [math.nan]) * len(self._times)
        for key, series in self._series.items():
            series.append(values.get(key, math.nan))
        self._times.append(time_s)
        if len(self._times) > self._most:
            for series in (self._times, *self._series.values()):
                del series[0]
        for key in [key for key in self._series if key not in values and all(map(math.isnan, self._series[key]))]:
            del self._series[key]

    def has(self, key: Key) -> bool:
        """Whether there are samples of it."""
        return key in self._series

    def since(self, key: Key, start_s: float) -> Points:
        """The samples from this moment on."""
        first = bisect_left(self._times, start_s)
        return list(zip(self._times[first:], self._series.get(key, array("d"))[first:], strict=False))
