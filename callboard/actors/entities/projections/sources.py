"""Follows the topics of a projection, and makes batches of what is on them."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from random import Random
from typing import NamedTuple

from callboard.actors.core.decision import Done, Effect, Failed, Input, Moment
from callboard.actors.core.follower import (
    Delivered,
    Follower,
    OutOfRange,
    Positioned,
    Replaced,
    Unavailable,
    from_first,
    from_offset,
)
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities.mark import Place
from callboard.actors.entities.projections.batch import Batch
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.messages.record import Record

READ_MAX, READ_BYTES = 2000, 1 << 20
"""Records of one batch. A read of less than half of them, and of fewer bytes, had all that was there."""


class Waiting(NamedTuple):
    """What is to be folded: the batch, the effects that go on reading, and the time before which its records were not
    on the log.
    """

    batch: Batch
    effects: tuple[Effect, ...]
    since_s: float


@dataclass(frozen=True, slots=True)
class Outdated:
    """What was folded is not on the log any more: make the rows again."""

    why: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Records that were not folded yet were removed."""

    problem: str


class Sources:
    """See the module. The owner passes its inputs to ``handle``; ``number`` tells its sources from those before."""

    def __init__(self, settings: ProjectorSettings, rng: Random, number: int) -> None:
        self._settings, self._rng, self._number = settings, rng, number
        self._followers: dict[str, Follower] = {}
        self._begun_s: dict[str, float] = {}  # when the last read of a topic began
        self._read_s: dict[str, float] = {}  # when the one before it began, if it had all that was there
        self.troubles: dict[str, str] = {}
        """Why topics cannot be read."""
        self.waiting = deque[Waiting]()
        """What was read and not folded yet."""

    def start(self, places: Mapping[str, Place]) -> tuple[Effect, ...]:
        """Read the topics from these places on, and those without one from the beginning."""
        for topic, _ in self._settings.topics:
            place = places.get(topic)
            policy = from_first() if place is None else from_offset(place.next, place.log_id)
            self._followers[topic] = Follower(
                topic, policy, self._rng, owner=self._owner(topic), report=True, max_records=READ_MAX
            )
        return tuple(effect for each in self._followers.values() for effect in each.start())

    @property
    def have_all(self) -> bool:
        """Whether everything that was on the topics was read."""
        return bool(self._followers) and all(each.caught_up for each in self._followers.values())

    def log_id(self, topic: str) -> str:
        """The incarnation of a topic."""
        return self._followers[topic].log_id

    def read_begins(self, topic: str, now: Moment) -> None:
        """Take notice of a read."""
        self._begun_s[topic] = now.mono_s

    def handle(self, message: Input, places: Mapping[str, Place]) -> tuple[Outdated | Gap | None, tuple[Effect, ...]]:
        """Handle an answer of the log, or a timer. The rows have everything before these places."""
        owner, found = message.effect.owner if isinstance(message, Done | Failed) else "", list[Effect]()
        for topic, follower in self._followers.items():
            if isinstance(message, Done | Failed) and owner != self._owner(topic):  # of sources before these, too
                continue
            news, effects = follower.handle(message)
            match news:
                case Unavailable(reason=reason):
                    self.troubles[topic] = reason
                case Delivered(next=following, records=records):
                    self.troubles.pop(topic, None)
                    batch = Batch(self._settings, topic, records, following)
                    self.waiting.append(Waiting(batch, effects, self._since_s(topic, records)))
                    continue
                case Replaced(log_id=was):
                    return Outdated(f"{topic} of {was} was replaced"), ()
                case OutOfRange(expected=expected, bounds=bounds) if bounds.first <= expected:
                    return Outdated(f"{topic} is shorter than before"), ()
                case OutOfRange(bounds=bounds) | Positioned(bounds=bounds) if self._is_gap(
                    topic, bounds.first, places.get(topic)
                ):
                    return Gap(f"the first records of {topic} were removed, up to {bounds.first - 1}"), ()
                case OutOfRange():
                    effects = follower.start()
            found += effects
        return None, tuple(found)

    def _owner(self, topic: str) -> str:
        return f"{self._number} {topic}"

    def _since_s(self, topic: str, records: tuple[Record, ...]) -> float:
        """Since when these records are on the log at most: since the read before was begun, if that had all."""
        since_s = self._read_s.get(topic, -inf)
        has_all = len(records) < READ_MAX // 2 and sum(len(each.payload) for each in records) < READ_BYTES
        self._read_s[topic] = self._begun_s.get(topic, -inf) if has_all else -inf
        return since_s

    def _is_gap(self, topic: str, first: int, place: Place | None) -> bool:
        """Whether records are missing. A topic of the service's own may be read from what is left of it."""
        if place is None:
            return first > ORIGIN and dict(self._settings.topics)[topic] is not None
        return first > place.next
