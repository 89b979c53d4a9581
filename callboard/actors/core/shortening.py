"""When to shorten topics: the part shared by the actors that do so."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Moment, Perform, Started, Tick, note
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.messages.topics import Topics

TIMER = "shorten"


@dataclass(frozen=True, slots=True)
class ShortenTopics(Perform):
    """Result ``Shortened``: removes records no longer needed from the topics of discovery, statuses and commands."""

    topics: Topics
    limits: ShorteningLimits
    now_ns: int


@dataclass(frozen=True, slots=True)
class Shortened:
    """How many records were removed from each topic; ``problem`` says why more could not be."""

    removed: dict[str, int] = field(default_factory=dict)
    problem: str = ""


class Shortening:
    """The owner passes its inputs to ``handle`` and yields the effects; any number of agents may have one."""

    def __init__(self, topics: Topics, limits: ShorteningLimits | None, rng: Random) -> None:
        self._topics, self._limits, self._rng = topics, limits, rng
        self._problem = ""

    def handle(self, message: Input, now: Moment) -> Iterator[Effect]:
        """Handle an input if it belongs to shortening."""
        match message:
            case Started() if self._limits is not None:
                yield After(TIMER, self._rng.uniform(*self._limits.first_s))
            case Tick(key) if key == TIMER and self._limits is not None:
                yield ShortenTopics(self._topics, self._limits, now.wall_ns)
            case Done(ShortenTopics(), Shortened(removed, problem)) if self._limits is not None:
                if removed:
                    yield note("topics.shortened", "info", **removed)
                yield from self._again(self._limits, problem)
            case Failed(ShortenTopics(), error) if self._limits is not None:
                yield from self._again(self._limits, str(error))

    def _again(self, limits: ShorteningLimits, problem: str) -> Iterator[Effect]:
        if problem and problem != self._problem:
            yield note("topics.not_shortened", "warning", reason=problem)
        self._problem = problem
        yield After(TIMER, self._rng.uniform(*limits.again_s))
