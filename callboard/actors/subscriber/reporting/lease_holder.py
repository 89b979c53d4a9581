"""Our lease on the subscriber's name: claimed by an announcement, held for a time, lost, or waited for."""

from dataclasses import replace
from enum import Enum, auto

from callboard.actors.core.claims import INTERVALS, LEASE_S_MAX, NameHolder, Word, speaker
from callboard.actors.core.decision import Done, Effect, Failed, Input, Moment
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.core.lease import NEVER, LeaseClock
from callboard.actors.subscriber.reporting.fleet_size import FleetSize
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.address import shown
from callboard.errors import LogReplaced, OffsetOutOfRange
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State
from callboard.messages.record import Record

WATCH_S = 2.0
"""Seconds that a read waits for the holder's next announcement, at most; then its silence is measured."""

GAP_PART = 1 / 2
"""Of a lease: the time between two looks counts as silence up to this part. A look waits for half of it."""

PATIENCE = 1.1
"""Leases for which the holder is watched: monotonic clocks of two hosts run at slightly different rates."""


class News(Enum):
    """What happened to the name."""

    OURS = auto()
    """Our announcement is on the log, and the name is ours there."""
    HELD = auto()
    """Another instance holds the name, and is watched until it lets go."""
    REFUSED = auto()
    """Another instance holds the name: give up."""
    FREE = auto()
    """The watched holder has let go: claim the name."""
    UNKNOWN = auto()
    """The log did not answer: claim or watch again after a while."""


class LeaseHolder:
    """Decides each of our announcements by the log before it, and watches a rival that holds the name.

    **Ours.** The lease runs from the moment we began to send our last announcement, once it is found on the log with no
    other holder before it.

    **A rival's.** We watch it for its own lease, counted by a ``LeaseClock`` from when we saw its last announcement. If
    no further one appears, we claim the name with the offset of that announcement; the claim counts only if it is still
    the last one. The holder reads the log too, so it has stopped by itself before. No two clocks are compared. If a
    shortened topic does not tell which of several has the name, all of them must be silent for the longest lease.

    A rival is watched if we are on standby, or if it is our own instance in another place: either we moved here and it
    is dead, or it is a copy of our repository, and speaks. The times of records prove nothing, so a rival that seems
    dead by them is watched too. One that was forgotten since its last announcement is watched for our lease if that is
    shorter: its own may be long, or forged.
    """

    def __init__(self, settings: SubscriberSettings, fleet: FleetSize | None = None) -> None:
        self._topic = settings.topics.discovery
        self._name = settings.name
        self._fleet = fleet if fleet is not None else FleetSize()
        self._ttl_s = settings.claim_ttl_s
        self._stands_by = settings.standby
        self._takes_over = self._term = NEVER  # for the next announcement
        self._claim = -1  # the offset of the announcement being decided
        self._mine: DiscoveryMessage | None = None
        self._began_s = self._until_s = float("-inf")
        self._log_id = ""  # of the topic read up to the position; empty to read all of it
        self._holder = NameHolder(self._name)
        self._former: Word | None = None
        self._position = 0
        self._mark: Record | None = None  # our last announcement as found there
        self._settled, self._settled_on = NEVER, ""  # the last one with which the name was ours, and on which log
        self._watched: Word | None = None
        self._watched_on = ""  # the log that has this announcement
        self._clock = LeaseClock()
        self._heard_s = 0.0  # on this clock
        self.refusal = ""
        """Why the name was not granted; empty if it was not refused."""

    @property
    def deciding(self) -> bool:
        """Whether an announcement is being decided."""
        return self._claim >= 0

    @property
    def watching(self) -> bool:
        """Whether a rival holds the name and is watched."""
        return self._watched is not None

    @property
    def until_ms(self) -> int:
        """The end of our lease: milliseconds of the monotonic clock."""
        return int(self._until_s * 1000)

    @property
    def holder(self) -> DiscoveryMessage | None:
        """The last announcement of the holder before our own claim."""
        word = self._watched or self._former
        return word.said if word is not None else None

    def dressed(self, report: DiscoveryMessage) -> DiscoveryMessage:
        """The report, turned into an announcement that claims the name."""
        wanted_s = max(self._ttl_s, INTERVALS * report.announce_interval_ms / 1000)
        lease_ms = int(min(wanted_s, LEASE_S_MAX) * 1000)
        return replace(report, lease_ms=lease_ms, takes_over=self._takes_over, term=self._term)

    def announced(self, mine: DiscoveryMessage, offset: int, began_s: float) -> list[Effect]:
        """Our announcement, begun at ``began_s``, is on the log: decide it, unless it says goodbye."""
        if mine.state is State.STOPPED:
            return []
        self._claim, self._mine, self._began_s = offset, mine, began_s
        if self._log_id and offset >= self._position:
            return [self._read()]
        return self._start_over()

    def handle(self, message: Input, now: Moment) -> tuple[News | None, list[Effect]]:
        """Handle an answer of the log."""
        if not self.deciding and not self.watching:
            return None, []
        match message:
            case Done(effect=FindBounds(), result=TopicBounds() as bounds):
                return None, self._begin(bounds, now)
            case Done(effect=ReadLog(), result=LogRead() as read) if read.log_id == self._log_id:
                return self._decide(read, now) if self.deciding else self._watch(read, now)
            case Done(effect=ReadLog()) | Failed(effect=ReadLog(), error=OffsetOutOfRange() | LogReplaced()):
                return None, self._start_over()  # trimmed, or another log: the holder will announce itself there
            case Failed(effect=FindBounds() | ReadLog()):
                self._claim = -1  # it is repeated; the older one counts too
                self._clock.look(now.mono_s)  # no one could be heard meanwhile
                return News.UNKNOWN, []
        return None, []

    def watch(self) -> list[Effect]:
        """Read the next announcements of the holder."""
        wait_s = min(WATCH_S, self._gap_s / 2)
        return [ReadLog(self._topic, self._position, wait_s=wait_s)] if self._log_id else self._start_over()

    def _read(self) -> Effect:
        return ReadLog(self._topic, self._position)

    def _start_over(self) -> list[Effect]:
        return [FindBounds(self._topic)]

    def _begin(self, bounds: TopicBounds, now: Moment) -> list[Effect]:
        """Read the topic from its first record, so that all readers come to the same answer."""
        if bounds.log_id != self._log_id and self.watching:
            self._heard_s, self._watched_on = self._clock.look(now.mono_s), ""
        self._log_id, self._position, self._mark = bounds.log_id, bounds.first, None
        self._holder = NameHolder(self._name, bounds.first)
        return [self._read()] if self.deciding else self.watch()

    def _decide(self, read: LogRead, now: Moment) -> tuple[News | None, list[Effect]]:
        claim, mine = self._claim, self._mine
        assert mine is not None
        if self._mark is not None and self._mark not in read.records[:1]:
            return None, self._start_over()
        self._mark = None
        records = [record for record in read.records if self._position <= record.offset <= claim]
        own = [record for record in records if record.offset == claim]
        self._holder.fold(records[: len(records) - len(own)])
        if self._settled_on == self._log_id:  # what is older may be of subscribers that have long gone
            self._fleet.hear(record for record in records if record.offset > self._settled)
        if not own and read.records and read.next <= claim:
            self._position = read.next
            return None, [self._read()]
        former, self._former, self._claim = self._before_us(mine), self._holder.claim, -1
        ours = former is None or 0 <= former.offset <= mine.takes_over
        if ours or (self._former is not None and self._former.speaker == speaker(mine)):
            self._holder.fold(own)  # also while another one may have the name: to all others it is our last word
        word = self._holder.claim
        late = now.mono_s >= self._began_s + mine.lease_ms / 1000  # what was said before it may be gone from the topic
        if ours and not late and word is not None and word.offset == claim:
            # The next look begins here, or at the first record if this one is gone from the log.
            self._position, self._mark, self._takes_over = claim, own[0], mine.takes_over
            self._term = claim if self._term == NEVER else self._term
            self._holder.settle(self._term)
            self._settled, self._settled_on = claim, self._log_id
            self._until_s = self._began_s + word.duration_s
            self._fleet.turn(now.mono_s, mine.announce_interval_s)
            return News.OURS, []
        self._log_id, self._mark = "", None  # the next one is decided by the whole topic
        self._takes_over = self._term = NEVER
        if ours or former is None or not own:
            return News.UNKNOWN, []
        if not self._stands_by and self._seems_alive(former, own[0].time_ns, mine):
            return self._refuse(former), []
        self._log_id, self._position = read.log_id, claim + 1
        self._watched, self._watched_on, self._heard_s = former, read.log_id, self._clock.look(now.mono_s)
        return News.HELD, self.watch()

    def _others(self, mine: DiscoveryMessage) -> list[Word]:
        """The last announcements of others that may have the name: the holder, and rivals that spoke after the name was
        last ours.
        """
        settled = self._settled if self._settled_on == self._log_id else NEVER
        rivals = [word for word in self._holder.rivals.values() if word.offset >= settled]
        words = rivals if self._holder.claim is None else [self._holder.claim, *rivals]
        return [word for word in words if word.speaker != speaker(mine)]

    def _before_us(self, mine: DiscoveryMessage) -> Word | None:
        """The latest of these: a takeover names it, and so covers them all."""
        return max(self._others(mine), key=lambda word: word.offset, default=None)

    def _seems_alive(self, word: Word, now_ns: int, mine: DiscoveryMessage) -> bool:
        near = abs(now_ns - word.time_ns) <= word.duration_s * 1e9
        return near and not self._forgotten(word) and word.said.subscriber_instance != mine.subscriber_instance

    def _watch(self, read: LogRead, now: Moment) -> tuple[News | None, list[Effect]]:
        watched, mine = self._watched, self._mine
        assert watched is not None
        assert mine is not None
        now_s, known = self._clock.look(now.mono_s, self._gap_s), self._before_us(mine)
        self._holder.fold(record for record in read.records if record.offset >= self._position)
        self._position, word = read.next, self._before_us(mine)
        if word is None and (known is not None or self._holder.claim is not None):
            return self._let_go(NEVER)  # it left, or an announcement of ours was late
        if word is not None and (word.offset != watched.offset or self._watched_on != self._log_id):
            speaks = word.offset > watched.offset and self._watched_on == self._log_id
            self._watched, self._watched_on, self._heard_s = word, self._log_id, now_s
            if speaks and not self._stands_by:
                self._watched = None
                return self._refuse(word), []
        elif now_s - self._heard_s > PATIENCE * self._silence_s:
            return self._let_go(watched.offset if self._watched_on == self._log_id else NEVER)
        return None, self.watch()

    def _forgotten(self, word: Word) -> bool:
        return word.offset < self._holder.forgotten

    @property
    def _silence_s(self) -> float:
        """Seconds for which the watched holder must be silent, and all others that may have the name."""
        assert self._mine is not None
        own_s, watched = self._mine.lease_ms / 1000, [self._watched] if self._watched is not None else []
        words = [*watched, *self._others(self._mine)]
        return max(min(word.duration_s, own_s) if self._forgotten(word) else word.duration_s for word in words)

    @property
    def _gap_s(self) -> float:
        return GAP_PART * self._silence_s

    def _let_go(self, over: int) -> tuple[News, list[Effect]]:
        self._watched, self._takes_over, self._log_id = None, over, ""
        return News.FREE, []

    def _refuse(self, word: Word) -> News:
        self._former, holder = word, word.said
        where = f"on {holder.host or 'an unknown host'} (process {holder.pid})"
        into = f", into {shown(holder.configuration.repository)}" if holder.configuration.repository else ""
        self.refusal = (
            f"subscriber {self._name!r} already runs as instance {holder.subscriber_instance[:8]} "
            f"{where}{into}; stop it, give this one another name, or start it with --standby. If it died, its name is "
            f"free {word.duration_s:.0f} s after its last announcement"
        )
        return News.REFUSED
