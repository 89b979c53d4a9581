"""The lease clock: time as the log shows it, by which every reader counts the same silence."""

from callboard.actors.core.lease import counted
from callboard.messages.topology.cluster_state import ClusterSettings, LogClock


def ticked(clock: LogClock, settings: ClusterSettings | None, time_ms: int) -> LogClock:
    """The clock at the next record, appended at ``time_ms`` by the clock of the log or of its writer.

    Time passes from the latest append so far, up to the gap of the settings: while the log stood still nobody could be
    heard, and a clock that jumps ahead proves no silence. Times before the latest do not count. But once those alone
    have passed for a lease, the clock that was ahead has been corrected or is gone, and time goes on from them. So this
    clock never gets ahead of the real time by more than a gap for each jump, and stands still for a lease at most.
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
