"""How far events were written: the last marks of a publisher on the event topic, and the events that it has."""

from collections.abc import Iterable, Sequence
from random import Random

from callboard.actors.core.decision import Effect, Input
from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, last
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.package_event import MARKS, EventMarks, Mark, open_event
from callboard.messages.record import Record

WINDOW = 1000
"""So many of the newest offsets are looked at first: every batch of events ends with marks, so one look is enough
unless other publishers wrote thousands of events since."""
GROWTH = 8
ENOUGH = 3
"""Marks of a kind that are looked for: of three one may be forged, and the middle one is true, or lies between two
that are."""
MARKS_MAX = 1000
"""Marks of each kind in mind; the newest ones."""
KEYS_MAX = 20_000
"""Events that are known to be told, of 100 bytes each; more than any window has of one publisher, but for one that is
far back."""


class KnownMarks:
    """Reads the end of the event topic, then further and further back, until enough marks of each kind are found or
    nothing is left to read; then follows the topic, for there may be other notifiers of this publisher. No mark is
    believed by itself, see ``start_of``, and an event counts as told when it was seen.
    """

    OWNER = "marks"

    def __init__(self, topic: str, publisher: str, kinds: tuple[str, ...], rng: Random) -> None:
        self.marks: dict[str, list[Mark]] = {}
        """Of each kind those that were found, the newest one at the end."""
        self.told: dict[str, None] = {}
        """The keys of this publisher's events that are on the topic."""
        self.complete = False
        """Whether there is no use in looking further back."""
        self.replaced = 0
        """How often another topic, or an older copy that lacks some of what was told, took the place of this one."""
        self._topic, self._publisher, self._kinds, self._rng = topic, publisher, kinds, rng
        self._window = WINDOW
        self._follower = Follower(topic, last(WINDOW), rng, owner=self.OWNER)
        self._at_first = False  # the window begins where the topic does

    def start(self) -> Iterable[Effect]:
        """The effects that begin it."""
        return self._follower.start()

    def handle(self, message: Input) -> Iterable[Effect]:
        """Take in what was read."""
        news, effects = self._follower.handle(message)
        match news:
            case Positioned(offset, bounds):
                self._at_first = offset <= bounds.first
            case OutOfRange() | Replaced():
                self._at_first = True  # the follower goes on at the first record
                self.told.clear()
                self.replaced += isinstance(news, Replaced) or news.expected > news.bounds.end
            case Delivered(records=records):
                for record in records:
                    self._look(record)
        if self.complete or news is None or not self._follower.caught_up:
            return effects
        self.complete = self._at_first or all(len(self.marks.get(kind, ())) >= ENOUGH for kind in self._kinds)
        return effects if self.complete else self._look_further_back()

    def _look_further_back(self) -> Iterable[Effect]:
        self._window *= GROWTH
        self.marks = {}
        self._follower = Follower(self._topic, last(self._window), self._rng, owner=self.OWNER)
        return self._follower.start()

    def _look(self, record: Record) -> None:
        if record.header("publisher") != self._publisher:
            return
        if record.header("type") != MARKS:
            self.told[record.header("id")] = None
            if len(self.told) > KEYS_MAX:
                del self.told[next(iter(self.told))]
            return
        if self.complete:
            return  # by then every source knows where it is
        try:
            event = open_event(record)
        except (Undecodable, SchemaTooNew):
            return  # whatever it is, it is no mark that this version could go by
        if not isinstance(event, EventMarks):
            return
        for mark in event.marks:
            if mark.kind in self._kinds:
                self.marks.setdefault(mark.kind, []).append(mark)
                del self.marks[mark.kind][:-MARKS_MAX]


def start_of(marks: Sequence[Mark], bounds: TopicBounds) -> int:
    """Where to go on: at the middle one of the marks that can be true, or the oldest record if there are not two.

    A mark that was forged may be too high, so that events would never be told, or too low, so that many would be told
    again. The middle one of several is neither, the lower one of two is not too high, and one that is alone is not
    believed. What was told behind it was seen on the topic.
    """
    offsets = sorted(mark.offset for mark in marks if is_possible(mark, bounds))
    if offsets and offsets[-1] < bounds.first:
        return offsets[(len(offsets) - 1) // 2]  # all were trimmed, which is told
    return max(offsets[(len(offsets) - 1) // 2], bounds.first) if len(offsets) > 1 else bounds.first


def is_possible(mark: Mark, bounds: TopicBounds) -> bool:
    """Whether the mark is of this topic and within it."""
    return mark.log_id == bounds.log_id and 0 <= mark.offset <= bounds.end
