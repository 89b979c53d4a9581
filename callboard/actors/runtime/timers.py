"""The timers of one actor: which are running, which are due, and when to check again."""

from math import isfinite

SLACK_S = 1e-6
"""A timer this close to its end is due: wake-ups come in whole microseconds."""

WAKE_S_MAX = 86_400.0
"""A longer timer is looked at once a day: a process cannot sleep longer than 24 days at a time."""


class Timers:
    """Keyed deadlines over wake-ups that can be neither cancelled nor moved, such as thespian's.

    A wake-up is requested only if it would come before all outstanding ones, so a timer reset a thousand times costs
    one, and a short timer does not make those of a long one pile up. A wake-up that comes when nothing is due is stale
    and ignored.
    """

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}
        self._wakes: list[float] = []  # outstanding, the earliest last
        self.changed = False
        """Whether a wake-up may have to be requested: something was set or was due since ``next_wake``."""

    def set(self, key: str, seconds: float, now_s: float) -> None:
        """(Re)start the timer ``key``; ``seconds < 0`` cancels it. Raises ``ValueError`` unless the time is finite."""
        if not isfinite(seconds):
            raise ValueError(f"timer {key!r} was set to {seconds} seconds; give a finite number, below 0 to cancel it")
        self.changed = True
        if seconds < 0:
            self._deadlines.pop(key, None)
        else:
            self._deadlines[key] = now_s + seconds

    def due(self, now_s: float) -> list[tuple[str, float]]:
        """At a wake-up: the due timers and their deadlines, in order of these; they stay until taken."""
        self.changed = True
        if self._wakes:
            self._wakes.pop()  # this wake-up, even if it came early: it does not come again
        ripe = [(key, at) for key, at in self._deadlines.items() if at <= now_s + SLACK_S]
        return sorted(ripe, key=lambda timer: (timer[1], timer[0]))

    def take(self, key: str, deadline_s: float) -> bool:
        """Remove this timer, unless it was cancelled or restarted since it was found due."""
        if self._deadlines.get(key) != deadline_s:
            return False
        del self._deadlines[key]
        return True

    def next_wake(self, now_s: float) -> float | None:
        """Seconds after which to request a wake-up; None if an outstanding one suffices."""
        self.changed = False
        first = min(self._deadlines.values(), default=None)
        if first is None:
            return None
        first = min(first, now_s + WAKE_S_MAX)
        if self._wakes and self._wakes[-1] <= first:
            return None
        self._wakes.append(first)
        return max(0.0, first - now_s)
