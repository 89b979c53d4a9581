"""The real clock, which only the composition root and the runtime hold."""

import time

from callboard.actors.decision import Moment


class SystemClock:
    """Tells the time of this machine; see ``callboard.actors.agent.Clock``."""

    def now(self) -> Moment:
        """The present moment."""
        return Moment(time.time_ns(), time.monotonic())
