"""The real clock, which only the composition root and the runtime hold."""

import time

from callboard.actors.core.decision import Moment

_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux has one that goes on while the machine sleeps, and so does what is lent for a time."""


class SystemClock:
    """Tells the time of this machine; see ``callboard.actors.core.agent.Clock``."""

    def now(self) -> Moment:
        """The present moment."""
        return Moment(time.time_ns(), time.clock_gettime(_MONOTONIC))
