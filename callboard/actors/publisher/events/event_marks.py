"""How far events were written: a publisher's last marks on the event topic, and its events already there."""

from collections.abc import Iterable, Sequence
from random import Random

from callboard.actors.core.decision import Effect, Input
from callboard.actors.core.effects import TopicBounds
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, from_last
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.package_event import MARKS, EventMarks, Mark, open_event
from callboard.messages.record import Record

WINDOW = 1000
"""Newest offsets read first: every batch of events ends with marks, so one read is enough
unless other publishers wrote thousands of events since."""
GROWTH = 8
ENOUGH = 3
"""Marks of each kind to find. If one of three is forged, the middle one is true, or lies between two true ones."""
MARKS_MAX = 1000
"""Newest marks of each kind kept."""
KEYS_MAX = 20_000
"""Events known to be written, 100 bytes each; more than any window has of one publisher, unless that one is far
behind."""


class KnownMarks:
    """Reads the end of the event topic, then further and further back until enough marks of each kind are found or
    nothing is left to read; then follows the topic, since this publisher may have other notifiers. No single mark is
    trusted, see ``start_of``, and an event counts as written only once it was seen on the topic.
    """

    OWNER = "marks"

    def __init__(self, topic: str, publisher: str, kinds: tuple[str, ...], rng: Random) -> None:
        self.marks: dict[str, list[Mark]] = {}
        """By kind, the marks found, the newest last."""
        self.written: dict[str, None] = {}
        """The keys of this publisher's events that are on the topic."""
        self.complete = False
        """Whether there is nothing to gain from reading further back."""
        self.replaced = 0
        """How often this topic was replaced by another, or by an older copy that lacks some of the events."""
        self._topic, self._publisher, self._kinds, self._rng = topic, publisher, kinds, rng
        self._window = WINDOW
        self._follower = Follower(topic, from_last(WINDOW), rng, owner=self.OWNER)
        self._at_first = False  # the window begins at the start of the topic

    def start(self) -> Iterable[Effect]:
        """The effects that begin reading."""
        return self._follower.start()

    def handle(self, message: Input) -> Iterable[Effect]:
        """Take in what was read."""
        news, effects = self._follower.handle(message)
        match news:
            case Positioned(offset, bounds):
                self._at_first = offset <= bounds.first
            case OutOfRange() | Replaced():
                self._at_first = True  # the follower continues at the first record
                self.written.clear()
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
        self._follower = Follower(self._topic, from_last(self._window), self._rng, owner=self.OWNER)
        return self._follower.start()

    def _look(self, record: Record) -> None:
        if record.header("publisher") != self._publisher:
            return
        if record.header("type") != MARKS:
            self.written[record.header("id")] = None
            if len(self.written) > KEYS_MAX:
                del self.written[next(iter(self.written))]
            return
        if self.complete:
            return  # by then every source knows its position
        try:
            event = open_event(record)
        except (Undecodable, SchemaTooNew):
            return  # not a mark that this version understands
        if not isinstance(event, EventMarks):
            return
        for mark in event.marks:
            if mark.kind in self._kinds:
                self.marks.setdefault(mark.kind, []).append(mark)
                del self.marks[mark.kind][:-MARKS_MAX]


def start_of(marks: Sequence[Mark], bounds: TopicBounds) -> int:
    """Where to continue: at the middle one of the possible marks, or at the oldest record if there are fewer than two.

    A forged mark may be too high, so that events would be lost, or too low, so that many would be written again. With
    one forged mark among three or more, the middle one is neither; of two, the lower one is not too high; a single mark
    is not trusted. Events after the mark that are on the topic already are not written again.
    """
    offsets = sorted(mark.offset for mark in marks if is_possible(mark, bounds))
    if offsets and offsets[-1] < bounds.first:
        return offsets[(len(offsets) - 1) // 2]  # all were trimmed, which gets reported
    return max(offsets[(len(offsets) - 1) // 2], bounds.first) if len(offsets) > 1 else bounds.first


def is_possible(mark: Mark, bounds: TopicBounds) -> bool:
    """Whether the mark belongs to this topic and lies within it."""
    return mark.log_id == bounds.log_id and 0 <= mark.offset <= bounds.end
