"""Our hold on the subscriber's name: claimed with an announcement, held for a time, lost, or waited for."""

from enum import Enum, auto

from callboard.actors.decision import Done, Effect, Failed, Input, Moment
from callboard.actors.effects import FindBounds, LogRead, ReadLog
from callboard.actors.subscriber.claim import LOOKBACK, Holder, lifetime_s, same
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.address import shown
from callboard.errors import LogReplaced, OffsetOutOfRange
from callboard.messages.distribution import DiscoveryMessage

WATCH_S = 2.0
"""How long one look at the holder's announcements waits for another one; then its silence is looked at."""


class News(Enum):
    """What has become of the name."""

    OURS = auto()
    """The claim was decided in our favour."""
    HELD = auto()
    """Another one holds the name, and is watched until it lets go."""
    REFUSED = auto()
    """Another one holds the name, and that is the end of it."""
    FREE = auto()
    """The one that was watched has let go: claim the name."""
    UNKNOWN = auto()
    """The log did not say: claim, or watch, again after a while."""


class Tenure:
    """Decides claims by what stands before them on the log, and watches another one's hold.

    The name is ours from the beginning of our last announcement for as long as the claim lives, which is not longer
    than others respect it. A rival is waited for if we stand by, or if it is our own instance in another place: then it
    is either what we were before we moved here, which is dead, or a copy of our repository, which speaks.
    """

    def __init__(self, settings: SubscriberSettings) -> None:
        self._topic = settings.topics.discovery
        self._name = settings.name
        self._ttl_s = settings.claim_ttl_s
        self._stands_by = settings.standby
        self._unclaimed = True  # the next announcement is a claim
        self._claim = -1  # the offset of the claim that is being decided about
        self._said = -1  # that of our last announcement
        self._mine: DiscoveryMessage | None = None
        self._began_s = self._until_s = float("-inf")
        self._holder = Holder(self._name, self._ttl_s)
        self._former: DiscoveryMessage | None = None
        self._position = 0
        self._heard_s = 0.0
        self.watching = False
        """Whether another one holds the name, and is waited for."""
        self.refusal = ""
        """Why the name cannot be had."""

    @property
    def deciding(self) -> bool:
        """Whether a claim waits for its decision."""
        return self._claim >= 0

    @property
    def until_ms(self) -> int:
        """Up to which moment of the monotonic clock the name is ours."""
        return int(self._until_s * 1000)

    @property
    def holder(self) -> DiscoveryMessage | None:
        """The last word of whoever holds the name, but for our own claim."""
        return self._holder.last if self.watching or self.refusal else self._former

    def announced(self, mine: DiscoveryMessage, offset: int, began_s: float, now: Moment) -> list[Effect]:
        """Our announcement, begun at ``began_s``, is at this offset: hold on, or have the claim decided. Offsets that
        start over are those of another log, which knows nothing of our claim and may have one of somebody else.
        """
        goes_on, self._said = offset > self._said, offset
        if not self._unclaimed and now.mono_s <= self._until_s and goes_on:
            self._until_s = began_s + lifetime_s(mine, self._ttl_s)
            return []
        self._unclaimed = True
        self._claim, self._mine, self._began_s = offset, mine, began_s
        self._holder = Holder(self._name, self._ttl_s)
        return [FindBounds(self._topic)]

    def handle(self, message: Input, now: Moment) -> tuple[News | None, list[Effect]]:  # noqa: PLR0911  # one an answer
        """What the log says."""
        match message:
            case Done(effect=FindBounds(), result=bounds) if self.deciding:
                return None, [ReadLog(self._topic, max(bounds.first, self._claim - LOOKBACK))]
            case Done(effect=ReadLog(), result=read) if self.deciding:
                return self._search(read, now)
            case Done(effect=ReadLog(), result=read) if self.watching:
                return self._watch(read, now)
            case Failed(effect=ReadLog(), error=OffsetOutOfRange() | LogReplaced()) if self.watching:
                return None, [FindBounds(self._topic)]  # trimmed, or another log, on which the holder speaks soon
            case Done(effect=FindBounds(), result=bounds) if self.watching:
                self._position = bounds.first
                return None, self.watch()
            case Failed(effect=FindBounds() | ReadLog()):
                self._claim = -1  # it is made anew; the older one counts too
                self._heard_s = now.mono_s  # nobody can be heard meanwhile
                return News.UNKNOWN, []
        return None, []

    def watch(self) -> list[Effect]:
        """Look for the next announcements of the holder."""
        return [ReadLog(self._topic, self._position, wait_s=WATCH_S)]

    def _search(self, read: LogRead, now: Moment) -> tuple[News | None, list[Effect]]:
        self._former = self._holder.fold(record for record in read.records if record.offset < self._claim)
        holder = self._holder.fold(record for record in read.records if record.offset == self._claim)
        if read.next <= self._claim and read.records:
            return None, [ReadLog(self._topic, read.next)]
        mine, self._position, self._claim = self._mine, self._claim + 1, -1
        assert mine is not None
        if holder is None or same(holder, mine):
            self._unclaimed = False
            self._until_s = self._began_s + lifetime_s(mine, self._ttl_s)
            return News.OURS, []
        if not self._stands_by and holder.subscriber_instance != mine.subscriber_instance:
            return self._refuse(holder), []
        self.watching, self._heard_s = True, now.mono_s
        return News.HELD, self.watch()

    def _watch(self, read: LogRead, now: Moment) -> tuple[News | None, list[Effect]]:
        before = self._holder.last
        holder = self._holder.fold(read.records)
        self._position = read.next
        if holder is not None and holder is not before:
            self._heard_s = now.mono_s
            if not self._stands_by:
                self.watching = False
                return self._refuse(holder), []
        if holder is None or now.mono_s - self._heard_s > lifetime_s(holder, self._ttl_s):
            self.watching = False
            return News.FREE, []
        return None, self.watch()

    def _refuse(self, holder: DiscoveryMessage) -> News:
        where = f"on {holder.host or 'an unknown host'} (process {holder.pid})"
        into = f", into {shown(holder.configuration.repository)}" if holder.configuration.repository else ""
        self.refusal = (
            f"subscriber {self._name!r} already runs as instance {holder.subscriber_instance[:8]} "
            f"{where}{into}; stop it, give this one another name, or have it stand by with --standby. If it died, its "
            f"name is free {lifetime_s(holder, self._ttl_s):.0f} s after its last word"
        )
        return News.REFUSED
