"""A clock that stands still."""

from datetime import UTC, datetime

from callboard.actors.core.decision import Moment
from callboard.actors.runtime import SystemClock

NS_PER_MS = 1_000_000


class StillClock:
    """Shows the same time until it is moved; durations are real, so that members keep their leases."""

    def __init__(self, now: datetime) -> None:
        zoned = now if now.tzinfo else now.replace(tzinfo=UTC)
        self.now_ms = int(zoned.timestamp() * 1000)

    def now_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return self.now_ms * NS_PER_MS

    def now(self) -> Moment:
        """See ``Clock``."""
        return Moment(self.now_ns(), SystemClock().now().mono_s)
