"""When to announce: all subscribers read all announcements, so the whole fleet has a budget of them."""

from random import Random

from callboard.actors.subscriber.reporting.fleet_size import FleetSize
from callboard.messages.distribution.topic_messages import ANNOUNCE_S_MAX

REST_PER_S, BUSY_PER_S = 10, 100
"""Announcements a second that all subscribers together aim at: without any change, and at most."""

GAP_S = 1.0
"""Least time between two announcements of a subscriber, in seconds, however small the fleet."""

EARLY_PART = 0.1
"""Of a stretched interval: an announcement is up to this part early, so that those started together do not stay so."""


class Pace:
    """The times of a subscriber's announcements, by the size of the fleet. A small fleet has those that are configured:
    with 10 s, one of up to 100 subscribers.
    """

    def __init__(self, least_s: float, rng: Random) -> None:
        self._least_s, self._rng = least_s, rng
        self._changed_s = float("-inf")
        self.fleet = FleetSize()
        self.interval_s = least_s
        """Seconds until the next announcement without a change, at most, as the last one says."""

    def begin(self) -> float:
        """An announcement begins: the interval for it to state, in seconds."""
        self.interval_s = max(self._least_s, min(self.fleet.count / REST_PER_S, ANNOUNCE_S_MAX))
        return self.interval_s

    def rest_s(self) -> float:
        """Seconds to wait for the next one."""
        is_stretched = self.interval_s > self._least_s
        return self.interval_s * (1 - EARLY_PART * self._rng.random()) if is_stretched else self.interval_s

    @property
    def gap_s(self) -> float:
        """Least seconds between two announcements of changes."""
        return max(GAP_S, min(self.fleet.count / BUSY_PER_S, ANNOUNCE_S_MAX))

    def change(self, now_s: float) -> None:
        """There is a change to announce. In a large fleet many may have it at once, so it waits for a random part of
        the gap.
        """
        self._changed_s = now_s + (self.gap_s * self._rng.random() if self.gap_s > GAP_S else 0.0)

    def wait_s(self, last_s: float, now_s: float) -> float:
        """Seconds until the change may be announced, if the last announcement was at ``last_s``."""
        return max(last_s + self.gap_s, self._changed_s) - now_s
