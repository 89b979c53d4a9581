"""Reports every new package to the queue cache."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.decision import Effect, Input, Moment, Origin, PeerUp, Send, Started, Stopped, Stopping
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, from_end
from callboard.actors.publisher.queues.summary import summarise
from callboard.actors.publisher.roles import QUEUE_CACHE
from callboard.messages.distribution.queue_mail import PackagesSeen, PackageSummary


@dataclass(frozen=True, slots=True)
class TailPollerSettings:
    """``topic`` is the package topic."""

    topic: str


class TailPoller:
    """Follows the package topic from its end.

    Receives: only what it asked the log for.
    Sends: PackagesSeen (queue_cache); an empty one, the anchor, when its position or the queue_cache is new.
    Stores: its position, in memory.
    Timers: the follower's back-off, 0.1 to 5 s.
    Gives up: never; the follower tries again, skips what was trimmed, and starts over on another log.
    """

    def __init__(self, settings: TailPollerSettings, rng: Random) -> None:
        self._follower = Follower(settings.topic, from_end(), rng)

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started():
                yield from self._follower.start()
            case PeerUp(role) if role == QUEUE_CACHE and self._follower.position >= 0:
                yield self._seen(self._follower.position, self._follower.position)
            case Stopping():
                yield Stopped()
            case _:
                news, effects = self._follower.handle(message)
                match news:
                    case Positioned() | OutOfRange() | Replaced():
                        yield self._seen(self._follower.position, self._follower.position)
                    case Delivered(start, stop, records) if stop > start:
                        yield self._seen(start, stop, tuple(map(summarise, records)))
                yield from effects

    def _seen(self, start: int, stop: int, packages: tuple[PackageSummary, ...] = ()) -> Send:
        seen = PackagesSeen(log_id=self._follower.log_id, start=start, stop=stop, packages=packages)
        return Send(QUEUE_CACHE, seen)
