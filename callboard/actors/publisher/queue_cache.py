"""Answers what lies in the queues, out of columns in memory; a queue is a view on them, never a copy."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.decision import (
    After,
    Effect,
    Input,
    Moment,
    Origin,
    PeerUp,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.publisher.coverage import Coverage
from callboard.actors.publisher.pages import Pages, Range
from callboard.actors.publisher.queries import Query, reach, refusal
from callboard.actors.publisher.roles import HEAD_POLLER, TAIL_POLLER
from callboard.messages.mailbox import PackagesSeen, QueueQuery, RangeDone, RangeWanted, Sizes, SizesQuery
from callboard.messages.publisher_mail import Counter, Counters, CountersQuery

MAX_ENTRIES = 5_000_000
"""Packages in memory: 135 MB, and a third more at most. Of older ones only figures are kept; see ``Coverage``."""

RETENTION_CHECK_S = 60.0
"""How old the knowledge may be of what the log no longer holds; until then sizes may count such packages."""

PAGE_MAX = 1000
"""Packages on a page; a query for more gets this many."""


@dataclass(frozen=True, slots=True)
class QueueCacheSettings:
    """Bounds: packages in memory (about 27 bytes each), summaries held for pages, questions that wait."""

    max_entries: int = MAX_ENTRIES
    details_max: int = 10_000
    max_waiting: int = 1000


class QueueCache:
    """Knows where every package of the log lies, as far back as anybody asked.

    Receives: PackagesSeen (tail_poller, head_poller), RangeDone (head_poller), QueueQuery, SizesQuery.
    Sends: RangeWanted (head_poller): for older packages, once however many ask, and for details of pages.
    Stores: in memory, bounded: columns of the newest packages and of older ones used last, details of shown ones,
        questions that wait.
    Timers: "retention", every 60 s: asks by an empty range where the log begins now.
    Gives up: on a question, with a ``problem``, when too many wait, or a read failed.
    """

    def __init__(self, settings: QueueCacheSettings, rng: Random) -> None:
        self._settings = settings
        self._coverage = Coverage(settings.max_entries)
        self._pages = Pages(settings.details_max)
        self._waiting: dict[Origin, Query] = {}  # for the coverage to reach them
        self._asked: list[RangeWanted] = []  # the coverage's wishes as told to the head poller
        self._fetches = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() | Tick("retention"):
                yield After("retention", RETENTION_CHECK_S)
                if (index := self._coverage.index) is not None:
                    yield self._want((index.stop, index.stop))
            case PackagesSeen() if origin.role == TAIL_POLLER:
                yield from self._seen(message)
            case PackagesSeen():
                self._coverage.fill(message)
                self._pages.fill(message.packages)
            case RangeDone() if message.log_id == self._coverage.log_id:
                yield from self._done(message)
            case QueueQuery() | SizesQuery():
                yield from self._ask(origin, message)
            case CountersQuery():
                yield Reply(origin, self._counters())
            case PeerUp(role) if role == HEAD_POLLER:
                self._asked = []
                yield from self._serve()
                yield from map(self._want, self._pages.ranges)
            case Stopping():
                yield Stopped()

    def _counters(self) -> Counters:
        index = self._coverage.index
        entries = len(index) + self._coverage.older.held if index is not None else 0
        return Counters(
            counters=(
                Counter(name="queue_cache_entries", value=entries),
                Counter(name="queue_cache_fetches_total", value=self._fetches),
            )
        )

    def _seen(self, seen: PackagesSeen) -> Iterable[Effect]:
        if self._coverage.add(seen):
            void = self._pages.void("the log was replaced meanwhile; ask again")
            yield from (Reply(page.origin, page.answer()) for page in void)
        self._pages.hold(seen.packages)
        yield from self._serve()

    def _done(self, done: RangeDone) -> Iterable[Effect]:
        if self._coverage.finish(done):
            yield from (Reply(origin, refusal(query, done.problem)) for origin, query in self._waiting.items())
            self._waiting.clear()
        if not done.problem:
            self._coverage.trim(done.first)
        yield from (Reply(page.origin, page.answer()) for page in self._pages.finish(done))
        yield from self._serve()

    def _ask(self, origin: Origin, query: Query) -> Iterable[Effect]:
        if len(self._waiting) + len(self._pages) >= self._settings.max_waiting:
            yield Reply(origin, refusal(query, "too many questions wait for the log to be read; ask again later"))
        else:
            self._waiting[origin] = query
            yield from self._serve()

    def _serve(self) -> Iterable[Effect]:
        """Answer what can be answered; have read what the rest needs."""
        coverage = self._coverage
        if coverage.index is None:
            return
        for origin, query in list(self._waiting.items()):
            if reach(query) >= coverage.start and (answered := list(self._answer(origin, query))):
                del self._waiting[origin]
                yield from answered
        if beyond := [reach(query) for query in self._waiting.values() if reach(query) < coverage.start]:
            coverage.reach(min(beyond))
        wishes = [wish for wish in (coverage.wanted, coverage.loading) if wish is not None]
        for wish in wishes:
            if not any(wish is asked for asked in self._asked):
                self._fetches += 1
                yield Send(HEAD_POLLER, wish)
        self._asked = wishes

    def _answer(self, origin: Origin, query: Query) -> Iterable[Effect]:
        """The answer; nothing while it needs something to be read."""
        coverage = self._coverage
        if isinstance(query, SizesQuery):
            sizes = [coverage.size(queue.publisher, queue.after) for queue in query.queues]
            known = tuple(size for size in sizes if size is not None)
            if len(known) == len(sizes):
                yield Reply(origin, Sizes(queues=known, publishers=coverage.publishers))
            return
        size = coverage.size(query.publisher, query.after)
        limit = min(max(query.limit, 0), PAGE_MAX)
        offsets = coverage.page(query.publisher, query.after, max(query.skip, 0), limit)
        if size is None or offsets is None:
            return
        page = self._pages.open(origin, size, offsets, "")
        if page.ranges:
            yield from map(self._want, sorted(page.ranges))
        else:
            yield Reply(origin, page.answer())

    def _want(self, wanted: Range) -> Send:
        start, stop = wanted
        return Send(HEAD_POLLER, RangeWanted(log_id=self._coverage.log_id, start=start, stop=stop))
