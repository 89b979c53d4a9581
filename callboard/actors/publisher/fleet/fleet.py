"""Knows every subscriber that ever announced itself, and whether it is still alive."""

from collections import OrderedDict
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Reply,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, from_last
from callboard.actors.core.lease import Holder, LeaseClock
from callboard.actors.core.shortening import Shortening
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.publisher.fleet.liveness import AppendTimes, Heard, believed_ns
from callboard.actors.publisher.fleet.lookback import Lookback
from callboard.actors.publisher.fleet.roster import Roster
from callboard.actors.publisher.intake.throttle_notice import AGAIN_S
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    DiscoveryMessage,
    ForgottenMessage,
    LogMessage,
    ThrottledMessage,
)
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of
from callboard.messages.topics import Topics
from callboard.messages.untrusted import distrust_of

THROTTLED_S = 3 * AGAIN_S
"""After three missing notices a publisher has ended, or is no longer throttled."""

GAP_S = 15.0
"""One read waits ten seconds. While nothing is read for longer than this, no subscriber turns silent."""

FOLDED = DiscoveryMessage, LogMessage, ForgottenMessage, ThrottledMessage, ArchivedMessage, FoldAnnouncementMessage
"""The messages on the discovery topic."""


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """``topic`` is the discovery topic. With ``shortening`` the fleet keeps short those of the ``topics`` that grow by
    themselves.

    ``history`` is how many of the newest offsets are read before anything is answered. Older ones are read in the
    background, for subscribers silent for long; the first queries wait for that, but at most ``lookback_wait_s``
    seconds. After ``gone_after_s`` seconds without an announcement a subscriber is gone. Bounds: subscribers known
    (those silent for longest are dropped first), throttled publishers, and queries that wait for the history.
    """

    topic: str
    topics: Topics | None = None
    shortening: ShorteningLimits | None = None
    history: int = 20_000
    lookback_wait_s: float = 3.0
    gone_after_s: float = 3600.0
    max_members: int = 10_000
    max_throttled: int = 1000
    max_waiting: int = 1000


class Fleet:
    """Folds the announcements by subscriber name; see ``Holder`` for which host's announcement counts.

    A subscriber leaves the fleet only when a command forgets it, or when retention removes its last announcement.

    Receives: FleetQuery, answered once everything announced before it is read.
    Sends: FleetView, to the asker.
    Stores: in memory, the last announcement of every subscriber, and which publishers are throttled.
    Timers: the back-offs of follower and lookback, 0.1 to 5 s; "patience", which ends the wait for the
        lookback; "shorten", 5 to 10 min.
    Gives up: never; the follower tries again. A record that is no announcement is skipped, and a query when too many
        wait is dropped, each with a line in the log.
    """

    def __init__(self, settings: FleetSettings, rng: Random) -> None:
        self._settings = settings
        self._follower = Follower(settings.topic, from_last(settings.history), rng)
        self._lookback = Lookback(settings.topic, DiscoveryMessage.__name__, rng)
        its = settings
        self._shortening = Shortening(its.topics, its.shortening, rng) if its.topics and its.shortening else None
        self._patient = True  # queries still wait for the lookback
        self._heard = Roster(settings.max_members)
        self._forgotten: OrderedDict[str, int] = OrderedDict()  # by name, the offset before which nothing counts
        self._dropped: set[str] = set()
        self._throttled: OrderedDict[tuple[str, str], tuple[ThrottledMessage, float]] = OrderedDict()  # and when heard
        self._waiting: dict[Origin, int | None] = {}  # by asker, the offset to read up to before the answer
        self._times = AppendTimes()
        self._probing = False  # whether only a gap is left before the end
        self._clock = LeaseClock()
        self._first = -1  # everything from here on was read
        self._ignored = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        if self._shortening is not None:
            yield from self._shortening.handle(message, now)
        match message:
            case Started():
                yield from self._follower.start()
            case FleetQuery() if len(self._waiting) < self._settings.max_waiting:
                self._waiting[origin] = None  # an announcement appended before the query counts
                yield FindBounds(self._settings.topic)
            case FleetQuery():
                yield note("question.dropped", "warning", waiting=len(self._waiting))
            case Stopping():
                yield Stopped()
            case Failed(FindBounds()):
                self._aim(-1)  # answer with what is known
                yield from self._follow(message, now)
            case Done(FindBounds(), TopicBounds() as bounds):
                self._aim(bounds.end)
                yield from self._look_ahead(bounds.end)
                yield from self._follow(message, now)
            case Done(ReadLog(start=start, owner="probe"), LogRead() as read):
                self._probing = False
                yield from self._looked_ahead(start, read)
            case Failed(ReadLog(owner="probe")):
                self._probing = False
            case Tick("patience"):
                self._patient = False
            case Done(ReadLog(owner=Lookback.OWNER)) | Failed(ReadLog(owner=Lookback.OWNER)) | Tick(Lookback.OWNER):
                yield from self._look_back(message, now)
            case _:
                yield from self._follow(message, now)
        yield from self._answer(now)

    def _follow(self, message: Input, now: Moment) -> Iterable[Effect]:
        if isinstance(message, Done | Failed):
            self._clock.look(now.mono_s, GAP_S if isinstance(message, Done) else 0.0)
        history = not self._follower.caught_up
        news, effects = self._follower.handle(message)
        if isinstance(news, Delivered):
            for record in news.records:
                yield from self._fold(record, history, now)
        elif isinstance(news, Replaced):
            self._aim(-1, again=True)
            self._forgotten.clear()
        yield from effects
        if isinstance(news, Positioned | OutOfRange | Replaced):
            start = self._first = self._follower.position
            self._heard.lose(start)
            yield from self._lookback.start(news.bounds.log_id, news.bounds.first, start)
            yield After("patience", self._settings.lookback_wait_s if self._lookback.unread else -1.0)

    def _look_back(self, message: Input, now: Moment) -> Iterable[Effect]:
        records, effects = self._lookback.handle(message)
        for record in records:
            yield from self._take_older(record, now)
        yield from effects

    def _look_ahead(self, end: int) -> Iterable[Effect]:
        """The follower waits for a record; only offsets without one may be left before the end."""
        position = self._follower.position
        if self._follower.caught_up and position < end and not self._probing:
            self._probing = True
            yield ReadLog(self._settings.topic, position, max_records=1, owner="probe")

    def _looked_ahead(self, start: int, read: LogRead) -> Iterable[Effect]:
        if read.records:
            return  # the follower gets them, too, in a moment
        for asker, end in self._waiting.items():
            if end is not None and start < end <= read.next:
                self._waiting[asker] = start
        yield from self._look_ahead(max((end for end in self._waiting.values() if end is not None), default=-1))

    def _aim(self, end: int, *, again: bool = False) -> None:
        """Queries without an end yet, or all of them, are answered once everything below ``end`` is read."""
        for asker, target in self._waiting.items():
            if target is None or again:
                self._waiting[asker] = end

    def _answer(self, now: Moment) -> Iterable[Effect]:
        position = self._follower.position
        ready = [asker for asker, end in self._waiting.items() if end is not None and end <= position]
        if not self._follower.caught_up or not ready or (self._patient and self._lookback.unread):
            return
        view = self._view()
        for asker in ready:
            del self._waiting[asker]
            yield Reply(asker, view)

    def _fold(self, record: Record, history: bool, now: Moment) -> Iterable[Effect]:
        if original_of(record) is not None:
            yield from self._take_older(record, now)
            return
        said = yield from self._open(record)
        seen_ns = self._times.take(record, now.wall_ns) if history else now.wall_ns
        if isinstance(said, ThrottledMessage):
            self._hear_throttled(said, self._heard_s(seen_ns, now))
        if not isinstance(said, DiscoveryMessage):
            return
        name, holder = said.subscriber, self._holder(said.subscriber, record.offset)
        known = holder.last, len(holder.kept)
        holder.hear(self._as_heard(said, record, record.offset, record.time_ns, seen_ns, now))
        if (holder.last, len(holder.kept)) != known:
            self._heard.put(name, holder, last=True)
        self._dropped.discard(name)
        yield from self._keep_bound()

    def _holder(self, name: str, offset: int) -> Holder[Heard]:
        """The known holder of the name; after one was forgotten or dropped, only later announcements count."""
        first = max(self._first, self._forgotten.get(name, -1) + 1, offset if name in self._dropped else -1)
        return self._heard.get(name) or Holder(first)

    def _as_heard(
        self, said: DiscoveryMessage, record: Record, offset: int, time_ns: int, seen_ns: int, now: Moment
    ) -> Heard:
        nbytes = len(record.payload)
        return Heard.of(said, offset, time_ns, seen_ns=seen_ns, heard_s=self._heard_s(seen_ns, now), nbytes=nbytes)

    def _heard_s(self, seen_ns: int, now: Moment) -> float:
        return self._clock.now_s - max(now.wall_ns - seen_ns, 0) / 1e9

    def _take_older(self, record: Record, now: Moment) -> Iterable[Effect]:
        """Take an announcement older than others that are known: read by the lookback, or repeated. It makes no
        subscriber look alive, since its time is when it was first made.
        """
        said, original = (yield from self._open(record)), original_of(record)
        offset, time_ns = (original.offset, original.time_ns) if original else (record.offset, record.time_ns)
        if not isinstance(said, DiscoveryMessage) or offset < self._forgotten.get(said.subscriber, -1):
            return
        seen_ns, holder = believed_ns(time_ns, now.wall_ns), self._holder(said.subscriber, record.offset)
        known = holder.last, len(holder.kept)
        heard = self._as_heard(said, record, offset, time_ns, seen_ns, now)
        holder.hear_older(heard, original.read_to if original else None)
        if (holder.last, len(holder.kept)) != known:
            self._heard.put(said.subscriber, holder, last=False)
            yield from self._keep_bound()

    def _hear_throttled(self, said: ThrottledMessage, heard_s: float) -> None:
        key = said.publisher, said.publisher_instance
        self._throttled.pop(key, None)
        if said.subscriber:
            self._throttled[key] = said, heard_s
        if len(self._throttled) > self._settings.max_throttled:
            self._throttled.popitem(last=False)

    def _open(self, record: Record) -> Generator[Effect, None, Event | None]:
        """Decode the record if it counts, and forget the subscriber that it declares gone."""
        if distrust_of(record):
            return None
        try:
            said = open_record(record, FOLDED)
            if isinstance(said, ForgottenMessage):
                original = original_of(record)
                self._forget(said.subscriber, original.offset if original else record.offset)
            return said
        except (SchemaTooNew, Undecodable) as error:
            self._ignored += 1
            yield note("announcement.ignored", "warning", count=self._ignored, reason=str(error))
            return None

    def _forget(self, subscriber: str, offset: int) -> None:
        """Ignore everything the subscriber announced before that offset."""
        known = self._heard.get(subscriber)
        if known is not None and known.last is not None and known.last.offset > offset:
            return
        self._heard.pop(subscriber)
        self._dropped.discard(subscriber)
        self._forgotten[subscriber] = max(offset, self._forgotten.pop(subscriber, -1))
        if len(self._forgotten) > self._settings.max_members:
            self._forgotten.popitem(last=False)

    def _keep_bound(self) -> Iterable[Effect]:
        for dropped in self._heard.make_room():
            if len(self._dropped) < self._settings.max_members:
                self._dropped.add(dropped)
            yield note("subscriber.dropped", "warning", subscriber=dropped, bound=self._settings.max_members)

    def _view(self) -> FleetView:
        throttled = (said for said, heard_s in self._throttled.values() if self._clock.now_s - heard_s <= THROTTLED_S)
        return FleetView(
            members=self._heard.members(self._clock.now_s, self._settings.gone_after_s),
            unread=self._lookback.unread,
            dropped=len(self._dropped),
            throttled=tuple(sorted(throttled, key=lambda said: (said.publisher, said.since_ns))),
        )
