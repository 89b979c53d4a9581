"""Whether a subscriber is alive, by its announcements."""

from dataclasses import dataclass

from callboard.actors.core.claims import Word
from callboard.backends.log import AHEAD_NS
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.record import Record


class AppendTimes:
    """When records were appended, from the clocks of all hosts that wrote them.

    A record has the time of the host that appended it. If that host's clock is slow, the records before it correct it:
    it cannot have been appended earlier than they were. A time in the future proves nothing.
    """

    def __init__(self) -> None:
        self._latest_ns = 0

    def take(self, record: Record, now_ns: int) -> int:
        """For each record of the topic in turn: the earliest time when it can have been appended."""
        if record.time_ns <= now_ns:
            self._latest_ns = max(self._latest_ns, record.time_ns)
        return max(self._latest_ns, believed_ns(record.time_ns, now_ns))


def believed_ns(time_ns: int, now_ns: int) -> int:
    """The time if it can be true, else the epoch: a false time must not make a subscriber look alive for ever."""
    return time_ns if time_ns <= now_ns + AHEAD_NS else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard(Word):
    """An announcement that was heard.

    ``seen_ns`` is when the record was appended, for display. ``heard_s`` is when it was read, by our own lease clock,
    for durations: the clocks of two hosts may differ. ``nbytes`` is the size of the message, where it counts.
    """

    seen_ns: int
    heard_s: float
    nbytes: int = 0

    def liveness(self, now_s: float, gone_after_s: float) -> Liveness:
        """The subscriber's state at ``now_s`` of the same clock, if nothing else is heard."""
        silence_s = now_s - self.heard_s
        if self.leaves:
            return Liveness.STOPPED
        if silence_s <= self.duration_s:
            return Liveness.LIVE
        return Liveness.SILENT if silence_s <= gone_after_s else Liveness.GONE
