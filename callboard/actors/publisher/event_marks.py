"""How far events were written: the newest marks of a publisher on the event topic."""

from collections.abc import Iterable
from random import Random

from callboard.actors.decision import Effect, Input
from callboard.actors.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, last
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.package_event import MARKS, EventMarks, Mark, open_event
from callboard.messages.record import Record

WINDOW = 1000
"""So many of the newest offsets are looked at first: every batch of events ends with marks, so one look is enough
unless other publishers wrote thousands of events since."""
GROWTH = 8


class KnownMarks:
    """Reads the end of the event topic, then further and further back, until each kind's mark is found or nothing is
    left to read; then follows the topic, for there may be other notifiers of this publisher.
    """

    def __init__(self, topic: str, publisher: str, kinds: tuple[str, ...], rng: Random) -> None:
        self.newest: dict[str, Mark] = {}
        self.complete = False
        """Whether there is no use in looking further back."""
        self._topic, self._publisher, self._kinds, self._rng = topic, publisher, kinds, rng
        self._window = WINDOW
        self._follower = Follower(topic, last(WINDOW), rng)
        self._older: dict[str, Mark] = {}  # of the window that is read; what was found in a newer one holds
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
            case Delivered(records=records):
                for record in records:
                    self._look(record)
        if self.complete or news is None or not self._follower.caught_up:
            return effects
        self.newest = self._older | self.newest
        self.complete = self._at_first or set(self._kinds) <= set(self.newest)
        return effects if self.complete else self._look_further_back()

    def _look_further_back(self) -> Iterable[Effect]:
        self._window *= GROWTH
        self._older = {}
        self._follower = Follower(self._topic, last(self._window), self._rng)
        return self._follower.start()

    def _look(self, record: Record) -> None:
        if record.header("type") != MARKS or record.header("publisher") != self._publisher:
            return
        try:
            event = open_event(record)
        except (Undecodable, SchemaTooNew):
            return  # whatever it is, it is no mark that this version could go by
        if not isinstance(event, EventMarks):
            return
        marks = self.newest if self.complete else self._older
        marks |= {mark.kind: mark for mark in event.marks if mark.kind in self._kinds}
