"""Keeps the error queues: what every subscriber gave up on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from random import Random

from callboard.actors.decision import Effect, Input, Moment, Origin, Reply, Started, Stopped, Stopping, note
from callboard.actors.follower import Delivered, Follower, from_first
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import PackageStatusMessage, Status
from callboard.messages.headers import open_record
from callboard.messages.mailbox import ErrorCount, ErrorsPage, ErrorsQuery
from callboard.messages.record import Record

PAGE_MAX = 1000
"""Errors on a page; a query for more gets this many."""


@dataclass(frozen=True, slots=True)
class StatusWatcherSettings:
    """``topic`` is the status topic. Bounds: errors in memory per queue, and questions that wait for the history."""

    topic: str
    max_errors: int = 10_000
    max_waiting: int = 1000


@dataclass(slots=True)
class ErrorQueue:
    """What one subscriber gave up on, by ascending offset, and how many of the oldest are only counted."""

    errors: dict[int, PackageStatusMessage] = field(default_factory=dict)
    counted: int = 0

    def add(self, status: PackageStatusMessage, most: int) -> None:
        """Take in a failure. One at an offset that is here already takes its place."""
        late = bool(self.errors) and status.offset < next(reversed(self.errors))
        self.errors[status.offset] = status
        if late:  # rare: a subscriber that was set back
            self.errors = dict(sorted(self.errors.items()))
        if len(self.errors) > most:
            del self.errors[next(iter(self.errors))]
            self.counted += 1

    @property
    def size(self) -> int:
        """How many packages."""
        return len(self.errors) + self.counted


class StatusWatcher:
    """Folds the statuses by subscriber and publisher. A package is in an error queue once, however often it failed,
    and leaves it when the subscriber takes it after all.

    Receives: ErrorsQuery, answered once all retained statuses are read.
    Sends: ErrorsPage, to whoever asked.
    Stores: the error queues, in memory; the oldest beyond ``max_errors`` are only counted.
    Timers: the follower's back-off, 0.1 to 5 s.
    Gives up: never; the follower tries again. What is no status is passed over, with a line in the log.
    """

    def __init__(self, settings: StatusWatcherSettings, rng: Random) -> None:
        self._settings = settings
        self._follower = Follower(settings.topic, from_first(), rng)
        self._queues: dict[tuple[str, str], ErrorQueue] = {}
        self._waiting: dict[Origin, ErrorsQuery] = {}
        self._ignored = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started():
                yield from self._follower.start()
            case ErrorsQuery() if len(self._waiting) < self._settings.max_waiting:
                self._waiting[origin] = message
            case ErrorsQuery():
                yield note("question.dropped", "warning", waiting=len(self._waiting))
            case Stopping():
                yield Stopped()
            case _:
                news, effects = self._follower.handle(message)
                if isinstance(news, Delivered):
                    for record in news.records:
                        yield from self._fold(record)
                yield from effects
        if self._follower.caught_up and self._waiting:
            yield from (Reply(asker, self._page(query)) for asker, query in self._waiting.items())
            self._waiting.clear()

    def _fold(self, record: Record) -> Iterable[Effect]:
        try:
            status = open_record(record, PackageStatusMessage)
        except (SchemaTooNew, Undecodable) as error:
            self._ignored += 1
            yield note("status.ignored", "warning", count=self._ignored, reason=str(error))
            return
        name = (status.subscriber, status.publisher)
        if status.status is Status.REMOVED_FAILED:
            self._queues.setdefault(name, ErrorQueue()).add(status, self._settings.max_errors)
        elif name in self._queues:
            self._queues[name].errors.pop(status.offset, None)
            if not self._queues[name].size:
                del self._queues[name]

    def _page(self, query: ErrorsQuery) -> ErrorsPage:
        asked = [
            queue.errors.values()
            for (subscriber, publisher), queue in self._queues.items()
            if query.subscriber in {"", subscriber} and query.publisher in {"", publisher}
        ]
        errors = merge(*asked, key=lambda status: status.offset)
        skip = max(query.skip, 0)
        return ErrorsPage(
            errors=tuple(islice(errors, skip, skip + min(max(query.limit, 0), PAGE_MAX))),
            counts=tuple(
                ErrorCount(subscriber=subscriber, publisher=publisher, size=queue.size)
                for (subscriber, publisher), queue in sorted(self._queues.items())
            ),
        )
