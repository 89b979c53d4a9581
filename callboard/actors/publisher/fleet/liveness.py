"""Whether a subscriber is heard of."""

from dataclasses import dataclass

from callboard.actors.core.lease import lease_s
from callboard.backends.log import AHEAD_NS
from callboard.messages.distribution.mailbox import Liveness
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State
from callboard.messages.record import Record


class AppendTimes:
    """When records were appended, told by all clocks that wrote them.

    A record has the time of the host that appended it. If that one's clock is behind, it is told by the records before
    it: it cannot have come earlier than they did. A time that lies in the future proves nothing.
    """

    def __init__(self) -> None:
        self._latest_ns = 0

    def take(self, record: Record, now_ns: int) -> int:
        """For each record of the topic in turn: when it was appended, at the earliest."""
        if record.time_ns <= now_ns:
            self._latest_ns = max(self._latest_ns, record.time_ns)
        return max(self._latest_ns, believed_ns(record.time_ns, now_ns))


def believed_ns(time_ns: int, now_ns: int) -> int:
    """The time if it may be true, and else the beginning of all times: it must make nobody look alive for ever."""
    return time_ns if time_ns <= now_ns + AHEAD_NS else 1


@dataclass(frozen=True, slots=True)
class Heard:
    """The last announcement of a subscriber.

    ``seen_ns`` is when the record was appended, for people. ``heard_s`` is when it was heard by our own monotonic
    clock, for durations: the clocks of two hosts may differ. ``offset`` is where it was said first.
    """

    announcement: DiscoveryMessage
    seen_ns: int
    heard_s: float
    offset: int = -1

    def liveness(self, now_s: float, gone_after_s: float) -> Liveness:
        """What to think of the subscriber at ``now_s`` (monotonic), if nothing else is heard."""
        silence_s = now_s - self.heard_s
        if self.announcement.state is State.STOPPED:
            return Liveness.STOPPED
        if silence_s <= lease_s(self.announcement):
            return Liveness.LIVE
        return Liveness.SILENT if silence_s <= gone_after_s else Liveness.GONE

    def gives_way_to(self, other: "Heard", gone_after_s: float) -> bool:
        """Whether the name belongs to ``other``, heard later: as subscribers decide it, see ``claim``. What was said
        before may not be known here, so one that has the name is believed once the other is silent.
        """
        mine, theirs = self.announcement, other.announcement
        if theirs.subscriber_instance == mine.subscriber_instance:
            return True
        if theirs.state is State.STOPPED:
            return False  # how an instance takes back a claim that was refused
        if mine.state is State.STOPPED:
            return True
        silent = self.liveness(other.heard_s, gone_after_s) is not Liveness.LIVE
        if not theirs.lease_ms:  # an older version, which goes by silence alone
            return silent
        if 0 <= theirs.term < other.offset:
            return theirs.term > max(mine.term, mine.takes_over) or silent
        return theirs.takes_over == self.offset
