"""Removes blobs that no record refers to any more, twice a day."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.publisher.effects import CollectBlobs
from callboard.content.collection import GRACE_S, BlobCollection

INTERVAL_S = 12 * 3600.0
"""Time between two collections; each reads the whole log."""

FIRST_S = (300.0, 900.0)
"""The first collection starts within this time: not at every restart, and not on all publishers at once."""

AGAIN = Backoff(first_s=60.0, max_s=3600.0)
"""Time between retries while the log or the blob store fails."""

COLLECT = "collect"
"""The timer."""


@dataclass(frozen=True, slots=True)
class BlobJanitorSettings:
    """The topics whose records refer to blobs, and how long a blob is kept after it was put."""

    package: str
    status: str
    grace_s: float = GRACE_S
    interval_s: float = INTERVAL_S


class BlobJanitor:
    """Collects blobs that no retained record refers to. Janitors may run concurrently: see ``content.collection``.

    Receives: nothing.
    Sends: nothing.
    Stores: nothing; every run starts from scratch.
    Timers: "collect", 5 to 15 min after the start, then ``interval_s`` apart; 60 s to 1 h after a failure.
    Gives up: a run, on a record that cannot be read, since it may refer to any blob; the next run tries again.
    """

    def __init__(self, settings: BlobJanitorSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._failures = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        its = self._settings
        match message:
            case Started():
                yield After(COLLECT, self._rng.uniform(*FIRST_S))
            case Tick(key) if key == COLLECT:
                yield CollectBlobs(its.package, its.status, its.grace_s, now.wall_ns)
            case Done(CollectBlobs(), BlobCollection() as done):
                self._failures = 0
                yield _line(done)
                yield After(COLLECT, its.interval_s)
            case Failed(CollectBlobs(), error):
                self._failures += 1
                yield note("blobs.not_collected", "warning", reason=str(error), failures=self._failures)
                yield After(COLLECT, AGAIN.delay_s(self._failures, self._rng))
            case Stopping():
                yield Stopped()


def _line(done: BlobCollection) -> Effect:
    if done.problem:
        return note("blobs.not_collected", "warning", reason=done.problem, removed=done.removed)
    return note(
        "blobs.collected", blobs=done.blobs, bytes=done.length, removed=done.removed, removed_bytes=done.removed_bytes
    )
