"""Keeps the error queues: what each subscriber gave up, quarantined, or could not finish."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from random import Random

from callboard.actors.core.decision import (
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
from callboard.actors.core.effects import FindBounds
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced
from callboard.actors.publisher.errors.error_queue import ErrorQueue, ErrorQueues
from callboard.actors.publisher.errors.status_dedup import TELLERS_MAX, StatusDedup, subscriber_of
from callboard.actors.publisher.errors.status_start import StatusStart
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.fleet_mail import ErrorCount, ErrorsPage, ErrorsQuery
from callboard.messages.distribution.topic_messages import CommandResultMessage, PackageStatusMessage, Status
from callboard.messages.headers import open_record, told_in
from callboard.messages.record import Record
from callboard.messages.repeated import original_of
from callboard.messages.untrusted import distrust_of

PAGE_MAX = 1001
"""Errors in an answer at most: those of a page, and one more, by which the asker knows that there is a next page."""


@dataclass(frozen=True, slots=True)
class StatusWatcherSettings:
    """The status topic, and the package topic that it is about.

    Bounds: errors in memory in total (about 1 kB each), and queries that wait for the history.
    """

    topic: str
    package_topic: str
    max_errors: int = 50_000
    max_waiting: int = 1000


class StatusWatcher:
    """Folds the statuses by subscriber and publisher. A package is in an error queue once, however often it failed,
    and leaves it when the subscriber imports it after all, or an operator dismisses it. A repeated status changes
    nothing: another host of that name may have sent something newer meanwhile.

    It reads nothing before the first query, and then only statuses of packages that the log may still have.

    Receives: ErrorsQuery, answered once all these statuses are read.
    Sends: ErrorsPage, to the asker.
    Stores: in memory the error queues (the oldest errors beyond ``max_errors`` are only counted), and the newest
        number of each sender of statuses.
    Timers: the follower's back-off, 0.1 to 5 s.
    Gives up: never; the follower tries again. A record that is no status is skipped, and a query when too many wait
        is dropped, each with a line in the log.
    """

    def __init__(self, settings: StatusWatcherSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._start: StatusStart | None = None  # set during the search
        self._follower: Follower | None = None
        self._queues = ErrorQueues(settings.max_errors)
        self._dedup = StatusDedup()
        self._spoke: dict[str, int] = {}  # by subscriber, the offset of its last new status
        self._from = 0  # everything from here on was read
        self._waiting: dict[Origin, ErrorsQuery] = {}
        self._looking = False  # for the end of the packages
        self._end = 0  # of the packages: statuses beyond it do not count; 0 if unknown
        self._ignored = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        if isinstance(message, Done | Failed) and message.effect == FindBounds(self._settings.package_topic):
            self._looking = False
            self._end = message.result.end if isinstance(message, Done) else self._end
        match message:
            case ErrorsQuery() if len(self._waiting) < self._settings.max_waiting:
                self._waiting[origin] = message
                if self._start is None and self._follower is None:
                    self._start = StatusStart(self._settings.package_topic, self._settings.topic)
                    yield from self._start.start()  # it looks up the packages first
                elif not self._looking:
                    yield FindBounds(self._settings.package_topic)
                self._looking = True
            case ErrorsQuery():
                yield note("question.dropped", "warning", waiting=len(self._waiting))
            case Stopping():
                yield Stopped()
            case Started():
                pass
            case _ if self._follower is not None:
                yield from self._follow(self._follower, message)
            case _ if self._start is not None:
                yield from self._start.handle(message)
                if self._start.found is not None:
                    self._follower = Follower(self._settings.topic, self._start.found, self._rng)
                    self._start = None
                    yield from self._follower.start()
        if self._follower is not None and self._follower.caught_up and self._waiting and not self._looking:
            read_to = self._follower.position
            yield from (Reply(asker, self._page(query, read_to)) for asker, query in self._waiting.items())
            self._waiting.clear()

    def _follow(self, follower: Follower, message: Input) -> Iterable[Effect]:
        news, effects = follower.handle(message)
        if isinstance(news, Positioned | OutOfRange | Replaced):
            self._from = follower.position
        match news:
            case Delivered(records=records):
                for record in records:
                    yield from self._fold(record)
            case Replaced():
                self._forget()
            case OutOfRange(expected, bounds) if expected > bounds.end:
                self._forget()
        yield from effects

    def _forget(self) -> None:
        """This is another copy of the topic: read it from its beginning, since it has the valid statuses."""
        self._queues, self._dedup = ErrorQueues(self._settings.max_errors), StatusDedup()
        self._spoke.clear()

    def _fold(self, record: Record) -> Iterable[Effect]:
        if distrust_of(record):
            return
        headers = told_in(record.headers)
        if (original := original_of(record)) is not None:
            if original.offset < self._from and self._spoke.get(subscriber_of(headers), -1) < original.read_to:
                yield from self._take_again(record)
            return
        self._spoke[subscriber_of(headers)] = record.offset
        if len(self._spoke) > TELLERS_MAX:
            del self._spoke[next(iter(self._spoke))]
        new = self._dedup.goes_on(headers, record.time_ns)
        if new and not self._queues.concerned(headers.get("kind", ""), headers.get("producer", "")):
            return
        status = yield from self._open(record)
        if status is None:
            return
        new = new or self._dedup.starts_over(headers, status.time_ns, record.time_ns)
        if new and isinstance(status, PackageStatusMessage):
            yield from self._dropped(self._queues.take(status))

    def _take_again(self, record: Record) -> Iterable[Effect]:
        """Take a repeated record whose first copy was trimmed before it could be read."""
        status = yield from self._open(record)
        if isinstance(status, PackageStatusMessage):
            yield from self._dropped(self._queues.take_again(status))

    def _open(self, record: Record) -> Generator[Effect, None, PackageStatusMessage | CommandResultMessage | None]:
        try:
            status = open_record(record, (PackageStatusMessage, CommandResultMessage))
        except (SchemaTooNew, Undecodable) as error:
            self._ignored += 1
            yield note("status.ignored", "warning", count=self._ignored, reason=str(error))
            return None
        assert isinstance(status, PackageStatusMessage | CommandResultMessage)
        return status

    def _dropped(self, count: int) -> Iterable[Effect]:
        if count:
            yield note("errors.dropped", "warning", count=count, bound=self._settings.max_errors)

    def _page(self, query: ErrorsQuery, read_to: int) -> ErrorsPage:
        queues = {name: self._real(queue) for name, queue in self._queues.by_name.items()}
        asked = [
            queue.errors.values()
            for (subscriber, publisher), queue in queues.items()
            if query.subscriber in {"", subscriber} and query.publisher in {"", publisher}
        ]
        after = query.after, query.after_subscriber
        errors = (status for status in merge(*asked, key=_order) if _order(status) > after)
        skip = max(query.skip, 0)
        return ErrorsPage(
            errors=tuple(islice(errors, skip, skip + min(max(query.limit, 0), PAGE_MAX))),
            counts=tuple(
                ErrorCount(
                    subscriber=subscriber,
                    publisher=publisher,
                    size=len(queue.errors),
                    held=queue.of(Status.HELD),
                    hooks=queue.of(Status.HOOK_FAILED),
                    dropped=queue.dropped,
                )
                for (subscriber, publisher), queue in sorted(queues.items())
                if queue.errors or queue.dropped
            ),
            next=read_to,
        )

    def _real(self, queue: ErrorQueue) -> ErrorQueue:
        """The queue without failures of packages that the log does not have yet."""
        oldest, newest = next(iter(queue.errors), 0), next(reversed(queue.errors), 0)
        if not self._end or 0 <= oldest <= newest < self._end:
            return queue
        return ErrorQueue({at: error for at, error in queue.errors.items() if 0 <= at < self._end}, queue.dropped)


def _order(status: PackageStatusMessage) -> tuple[int, str]:
    """Unique: a package is in the error queues of a subscriber once."""
    return status.offset, status.subscriber
