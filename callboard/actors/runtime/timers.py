"""The timers of one actor: which run, which have run out, and when to look again."""

SLACK_S = 1e-6
"""A timer this close to its end has run out: wake-ups come in whole microseconds."""


class Timers:
    """Keyed deadlines over wake-ups that can neither be cancelled nor moved, as thespian's.

    At most one useful wake-up is outstanding, so a timer re-armed a thousand times costs one. A wake-up that
    comes when nothing is due is stale and means nothing.
    """

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}
        self._wake_at: float | None = None

    def set(self, key: str, seconds: float, now_s: float) -> None:
        """(Re)start the timer ``key``; ``seconds < 0`` cancels it."""
        if seconds < 0:
            self._deadlines.pop(key, None)
        else:
            self._deadlines[key] = now_s + seconds

    def due(self, now_s: float) -> list[tuple[str, float]]:
        """The timers that have run out, with their deadlines and in this order; they stay until taken."""
        if self._wake_at is not None and self._wake_at <= now_s + SLACK_S:
            self._wake_at = None
        ripe = [(key, at) for key, at in self._deadlines.items() if at <= now_s + SLACK_S]
        return sorted(ripe, key=lambda timer: (timer[1], timer[0]))

    def take(self, key: str, deadline_s: float) -> bool:
        """Take out this timer, unless it was cancelled or started anew since it was found due."""
        if self._deadlines.get(key) != deadline_s:
            return False
        del self._deadlines[key]
        return True

    def next_wake(self, now_s: float) -> float | None:
        """Seconds after which to ask for a wake-up; None if those asked for already will do."""
        first = min(self._deadlines.values(), default=None)
        if first is None or (self._wake_at is not None and self._wake_at <= first):
            return None
        self._wake_at = first
        return max(0.0, first - now_s)
