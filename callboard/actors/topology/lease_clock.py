"""The lease clock: time as shown by the log, the same for all readers."""

from callboard.actors.core.lease import counted
from callboard.messages.event import made
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
        return made(LogClock, (b"", now_ms, time_ms, time_ms, 0))  # fast, for nearly every record
    if clock.behind_ms >= clock.time_ms:  # the first that is behind
        return LogClock(now_ms=clock.now_ms, time_ms=clock.time_ms, behind_ms=time_ms)
    stalled_ms = clock.stalled_ms + counted(time_ms - clock.behind_ms, settings.gap_ms)
    behind_ms = max(time_ms, clock.behind_ms)
    if stalled_ms >= settings.lease_ms:
        return LogClock(now_ms=clock.now_ms, time_ms=behind_ms, behind_ms=behind_ms)
    return LogClock(now_ms=clock.now_ms, time_ms=clock.time_ms, behind_ms=behind_ms, stalled_ms=stalled_ms)
