"""Follows the job topic, from a snapshot on if there is one."""

from dataclasses import dataclass
from random import Random

from callboard.actors.core.decision import Effect, Input, note
from callboard.actors.core.follower import (
    Delivered,
    Follower,
    OutOfRange,
    Positioned,
    Replaced,
    StartPolicy,
    Unavailable,
    from_first,
    from_offset,
)
from callboard.actors.core.lease import ORIGIN
from callboard.actors.jobs.jobs import Jobs
from callboard.actors.jobs.snapshots.search import Snapshot, SnapshotSearch


@dataclass(frozen=True, slots=True)
class Begun:
    """What is delivered from now on follows this snapshot. What was known before no longer counts."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Gap:
    """The first records were removed, and no snapshot tells what they said."""

    detail: str


News = Begun | Delivered | Gap | Unavailable
Answer = tuple[News | None, tuple[Effect, ...]]


class JobFollower:
    """Reads the job topic in order, as a ``Follower`` does, after ``Begun``. This comes again if the topic was
    replaced, or trimmed unread.
    """

    def __init__(self, topic: str, rng: Random) -> None:
        self._topic, self._rng = topic, rng
        self._begin()

    def _begin(self) -> None:
        self._search: SnapshotSearch | None = SnapshotSearch()
        self._seek(StartPolicy(self._search.place))

    def _seek(self, start: StartPolicy) -> None:
        self._follower = Follower(self._topic, start, self._rng)

    @property
    def caught_up(self) -> bool:
        """Whether everything that was on the topic in the beginning has been delivered."""
        return self._search is None and self._follower.caught_up

    @property
    def log_id(self) -> str:
        """The incarnation of the topic."""
        return self._follower.log_id

    def again(self) -> tuple[Effect, ...]:
        """The effects that look for a snapshot once more, after ``Gap``."""
        self._begin()
        return self.start()

    def start(self) -> tuple[Effect, ...]:
        """The effects that begin reading."""
        return self._follower.start()

    def handle(self, message: Input) -> Answer:
        """Handle an input of the follower; for any other input return ``(None, ())``."""
        news, effects = self._follower.handle(message)
        match news:
            case OutOfRange(expected, bounds) if expected < bounds.first:
                return None, self.again()
            case OutOfRange() | Replaced():  # it ends before what was read, as an older copy does, or is another one
                was = news.log_id if isinstance(news, Replaced) else self.log_id
                self._begin()
                return None, (note("jobs.replaced", "warning", topic=self._topic, was=was), *self.start())
            case Positioned(bounds=bounds) if self._search is not None and self._search.is_needless:
                self._search = None
                return Begun(Snapshot(bounds.log_id, bounds.first - 1, Jobs())), effects
            case Positioned() | Delivered() if self._search is not None:
                return self._look(self._search, news, effects)
            case Positioned():
                return None, effects
        return news, effects

    def _look(self, search: SnapshotSearch, news: Positioned | Delivered, effects: tuple[Effect, ...]) -> Answer:
        """Look for a snapshot in these records, and if there is none to the end, in a larger part of the topic."""
        found = search.first_of(news.records if isinstance(news, Delivered) else ())
        told = tuple(note("snapshot.skipped", "warning", topic=self._topic, reason=why) for why in search.told())
        if found is not None:
            self._search = None
            self._seek(from_offset(found.as_of + 1, found.log_id))
            return Begun(found), (*told, *self.start())
        if not self._follower.caught_up:
            return None, (*told, *effects)
        if search.widen():
            self._seek(StartPolicy(search.place))
            return None, (*told, *self.start())
        bounds = search.bounds
        if bounds.first > ORIGIN:
            gap = f"the job topic begins at offset {bounds.first}, and no snapshot tells what was before"
            return Gap(gap), told
        self._search = None
        self._seek(from_first())
        return Begun(Snapshot(bounds.log_id, bounds.first - 1, Jobs())), (*told, *self.start())
