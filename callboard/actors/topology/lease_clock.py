"""The lease clock: time as shown by the log, the same for all readers."""

from callboard.actors.core.lease import counted
from callboard.messages.topology.cluster_state import ClusterSettings, LogClock


def ticked(clock: LogClock, settings: ClusterSettings | None, time_ms: int) -> LogClock:
    """The clock at the next record, appended at ``time_ms`` by the clock of the log's server or of the writer.

    It advances from the latest append time so far, by the gap of the settings at most: while the log was unavailable no
    member could renew, and a jump of the server's clock is not silence. Records dated before the latest do not advance
    it. But once they alone cover a lease, the clock that was ahead was corrected or is gone, and it continues from
    them. So it gets ahead of real time by at most one gap per jump, and stops for at most a lease; but if the records'
    time goes back again meanwhile, until it is again what it was before that.
    """
    if settings is None:
        return LogClock(time_ms=time_ms, behind_ms=time_ms)
    if time_ms >= clock.time_ms:
        now_ms = clock.now_ms + counted(time_ms - clock.time_ms, settings.gap_ms)
        return LogClock(now_ms=now_ms, time_ms=time_ms, behind_ms=time_ms)
    if clock.behind_ms >= clock.time_ms:  # the first that is behind
        return LogClock(now_ms=clock.now_ms, time_ms=clock.time_ms, behind_ms=time_ms)
    stalled_ms = clock.stalled_ms + counted(time_ms - clock.behind_ms, settings.gap_ms)
    behind_ms = max(time_ms, clock.behind_ms)
    if stalled_ms >= settings.lease_ms:
        return LogClock(now_ms=clock.now_ms, time_ms=behind_ms, behind_ms=behind_ms)
    return LogClock(now_ms=clock.now_ms, time_ms=clock.time_ms, behind_ms=behind_ms, stalled_ms=stalled_ms)


class RunningClock:
    """The clock of a founded cluster over many records. It computes what ``ticked`` does, several times as fast."""

    __slots__ = ("_clock", "_time_ms", "now_ms")

    def __init__(self, clock: LogClock) -> None:
        self._clock: LogClock | None = clock
        self.now_ms, self._time_ms = clock.now_ms, clock.time_ms

    def tick(self, settings: ClusterSettings, time_ms: int) -> None:
        """Go on to the next record."""
        if time_ms < self._time_ms:
            self._clock = clock = ticked(self.clock, settings, time_ms)
            self.now_ms, self._time_ms = clock.now_ms, clock.time_ms
            return
        self.now_ms += counted(time_ms - self._time_ms, settings.gap_ms)
        self._time_ms, self._clock = time_ms, None

    @property
    def clock(self) -> LogClock:
        """The clock now."""
        if self._clock is None:
            self._clock = LogClock(now_ms=self.now_ms, time_ms=self._time_ms, behind_ms=self._time_ms)
        return self._clock
