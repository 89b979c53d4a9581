"""Knows every subscriber that was ever heard of, and whether it still is."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.decision import (
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
    note,
)
from callboard.actors.effects import FindBounds, TopicBounds
from callboard.actors.follower import Delivered, Follower, Replaced, last
from callboard.actors.publisher.liveness import Heard
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import DiscoveryMessage, LogMessage
from callboard.messages.headers import open_record
from callboard.messages.mailbox import FleetQuery, FleetView, Member
from callboard.messages.record import Record


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """``topic`` is the discovery topic.

    ``history`` is how many of its newest offsets are read at the start: no subscriber that announced itself within
    them is ever missing. After ``gone_after_s`` seconds without a word a subscriber is gone. Bounds: subscribers
    known (those not heard of for longest are forgotten first) and questions that wait for the history.
    """

    topic: str
    history: int = 20_000
    gone_after_s: float = 3600.0
    max_members: int = 10_000
    max_waiting: int = 1000


class Fleet:
    """Folds the announcements by subscriber name. The earlier claim to a name holds while it is live.

    Receives: FleetQuery, answered once everything is read that was announced before it.
    Sends: FleetView, to whoever asked.
    Stores: the last announcement of every subscriber, in memory.
    Timers: the follower's back-off, 0.1 to 5 s.
    Gives up: never; the follower tries again. What is no announcement is passed over, with a line in the log.
    """

    def __init__(self, settings: FleetSettings, rng: Random) -> None:
        self._settings = settings
        self._follower = Follower(settings.topic, last(settings.history), rng)
        self._heard: dict[str, Heard] = {}  # by subscriber, the one heard last at the end
        self._waiting: dict[Origin, int | None] = {}  # who asks, and up to where must be read for the answer
        self._ignored = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started():
                yield from self._follower.start()
            case FleetQuery() if len(self._waiting) < self._settings.max_waiting:
                self._waiting[origin] = None  # an announcement that was appended before the question counts
                yield FindBounds(self._settings.topic)
            case FleetQuery():
                yield note("question.dropped", "warning", waiting=len(self._waiting))
            case Stopping():
                yield Stopped()
            case Failed(FindBounds()):
                self._aim(-1)  # what is known will have to do
                yield from self._follow(message, now)
            case Done(FindBounds(), TopicBounds() as bounds):
                self._aim(bounds.end)
                yield from self._follow(message, now)
            case _:
                yield from self._follow(message, now)
        yield from self._answer(now)

    def _follow(self, message: Input, now: Moment) -> Iterable[Effect]:
        history = not self._follower.caught_up
        news, effects = self._follower.handle(message)
        if isinstance(news, Delivered):
            for record in news.records:
                yield from self._fold(record, history, now)
        elif isinstance(news, Replaced):
            self._aim(-1, again=True)
        yield from effects

    def _aim(self, end: int, *, again: bool = False) -> None:
        """The questions that do not know it yet, or all of them, are answered once everything below is read."""
        for asker, target in self._waiting.items():
            if target is None or again:
                self._waiting[asker] = end

    def _answer(self, now: Moment) -> Iterable[Effect]:
        position = self._follower.position
        ready = [asker for asker, end in self._waiting.items() if end is not None and end <= position]
        if not self._follower.caught_up or not ready:
            return
        view = self._view(now)
        for asker in ready:
            del self._waiting[asker]
            yield Reply(asker, view)

    def _fold(self, record: Record, history: bool, now: Moment) -> Iterable[Effect]:
        try:
            announcement = open_record(record, (DiscoveryMessage, LogMessage))
        except (SchemaTooNew, Undecodable) as error:
            self._ignored += 1
            yield note("announcement.ignored", "warning", count=self._ignored, reason=str(error))
            return
        if not isinstance(announcement, DiscoveryMessage):
            return
        # When history was written can only be told by the record's time, that is by another host's clock.
        age_s = max(now.wall_ns - record.time_ns, 0) / 1e9 if history else 0.0
        heard = Heard(announcement, record.time_ns, now.mono_s - age_s)
        known = self._heard.get(announcement.subscriber)
        if known is None or known.gives_way_to(heard, self._settings.gone_after_s):
            self._heard.pop(announcement.subscriber, None)
            self._heard[announcement.subscriber] = heard
        if len(self._heard) > self._settings.max_members:
            forgotten = next(iter(self._heard))
            del self._heard[forgotten]
            yield note("subscriber.forgotten", "warning", subscriber=forgotten, bound=self._settings.max_members)

    def _view(self, now: Moment) -> FleetView:
        members = [
            Member(
                announcement=heard.announcement,
                liveness=heard.liveness(now.mono_s, self._settings.gone_after_s),
                seen_ns=heard.seen_ns,
            )
            for _, heard in sorted(self._heard.items())
        ]
        return FleetView(members=tuple(members))
