"""The real clock, which only the composition root and the runtime use."""

import time
from time import clock_gettime, time_ns

from callboard.actors.core.decision import Moment

_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux has a clock that runs on while the machine sleeps, as leases do."""


class SystemClock:
    """Tells the time of this machine; see ``callboard.actors.core.agent.Clock``."""

    def now(self) -> Moment:
        """The present moment."""
        return Moment(time_ns(), clock_gettime(_MONOTONIC))
