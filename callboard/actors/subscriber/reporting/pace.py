"""When to announce: all subscribers read all announcements, so those of the whole fleet have a budget."""

from random import Random

from callboard.actors.subscriber.reporting.fleet_size import FleetSize
from callboard.messages.distribution.topic_messages import ANNOUNCE_S_MAX

SMALL = 100
"""Subscribers up to which all times are as configured. In a larger fleet they grow with it, so that all together make
as many announcements as these: by default 10 a second at rest, and 100 at most."""

GAP_S = 1.0
"""Least time between two announcements of a subscriber in a small fleet, in seconds."""

SPARSE_S = 10.0
"""Growth starts from at most this interval, so a longer one grows only once the budget needs it."""

EARLY_PART = 0.1
"""Of an interval that has grown: an announcement is up to this part early, so that those started together do not stay
so."""


class Pace:
    """The times of a subscriber's announcements, by the size of the fleet."""

    def __init__(self, interval_s: float, rng: Random) -> None:
        self._least_s, self._rng = interval_s, rng
        self._changed_s = float("-inf")
        self.fleet = FleetSize()
        self.interval_s = interval_s
        """Seconds until the next announcement without a change, at most, as the last one says."""

    def begin(self) -> float:
        """An announcement begins: the interval for it to state, in seconds."""
        grown_s = min(self._least_s, SPARSE_S) * self._crowding
        self.interval_s = max(self._least_s, min(grown_s, ANNOUNCE_S_MAX))
        return self.interval_s

    def rest_s(self) -> float:
        """Seconds to wait for the next one."""
        has_grown = self.interval_s > self._least_s
        return self.interval_s * (1 - EARLY_PART * self._rng.random()) if has_grown else self.interval_s

    @property
    def gap_s(self) -> float:
        """Least seconds between two announcements of changes."""
        return min(GAP_S * self._crowding, ANNOUNCE_S_MAX)

    def change(self, now_s: float) -> None:
        """There is a change to announce. In a large fleet many may have it at once, so it waits for a random part of
        the gap.
        """
        self._changed_s = now_s + (self.gap_s * self._rng.random() if self._crowding > 1 else 0.0)

    def wait_s(self, last_s: float, now_s: float) -> float:
        """Seconds until the change may be announced, if the last announcement was at ``last_s``."""
        return max(last_s + self.gap_s, self._changed_s) - now_s

    @property
    def _crowding(self) -> float:
        return max(self.fleet.count / SMALL, 1.0)
