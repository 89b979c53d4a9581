"""Answers queries about the queues from columns in memory; a queue is a view on them, never a copy."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
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
from callboard.actors.publisher.effects import LoadCheckpoint
from callboard.actors.publisher.queues.cached_range import CachedRange
from callboard.actors.publisher.queues.checkpointing import Checkpointing
from callboard.actors.publisher.queues.page_details import Pages, Range
from callboard.actors.publisher.queues.preview import PREVIEW_OFFSETS, QueuePreview, Waiting
from callboard.actors.publisher.queues.queries import Query, page_limit, reach, refusal, wanted
from callboard.actors.publisher.roles import OLDER_POLLER, TAIL_POLLER
from callboard.actors.publisher.settings import MAX_ENTRIES
from callboard.messages.distribution.publisher_mail import Counter, Counters, CountersQuery
from callboard.messages.distribution.queue_mail import (
    PackagesSeen,
    QueueQuery,
    QueueSize,
    RangeDone,
    RangeWanted,
    Sizes,
    SizesQuery,
)

RETENTION_CHECK_S = 60.0
"""How long trimmed packages may still be counted in sizes."""

PATIENCE_S = 0.5
"""A queue not counted by then is answered with what is known of it; counting continues. An answer waits as long for
packages that the log had when the query came, which the tail poller reports within milliseconds."""

AGAIN_S = 0.1
"""Between checks whether the first packages of the queue have been read."""

SLACK_S = 1e-3
"""How much too early a timer may fire."""

COUNTING = "counting"

PUBLISHERS_MAX = 10_000
"""Publishers named with sizes: any writer can use any publisher name."""


@dataclass(frozen=True, slots=True)
class QueueCacheSettings:
    """Bounds: packages in memory (about 25 bytes each), summaries kept for pages, waiting queries. ``topic`` is the
    package topic, if there is a checkpoint of it.
    """

    topic: str = ""
    max_entries: int = MAX_ENTRIES
    details_max: int = 10_000
    max_waiting: int = 1000


class QueueCache:
    """Knows where every package of the log lies, as far back as queries have reached.

    Receives: PackagesSeen (tail_poller, older_poller), RangeDone (older_poller), QueueQuery, SizesQuery,
        CountersQuery.
    Sends: QueuePage, Sizes and Counters, to the asker; RangeWanted (older_poller): for older packages, once however
        many ask, and for details of pages.
    Stores: in memory, bounded: columns of the newest packages and of older ones used last, details of shown ones,
        queries that wait. In the checkpoint: the columns of the newest packages.
    Timers: "retention", every 60 s: an empty range asks where the log begins now, and the checkpoint is written if it
        lacks many; "counting": a query that has waited for 0.5 s is answered with what is known, with ``uncounted``,
        and the first packages of the queue, but without packages that the tail poller has not reported.
    Gives up: on a query, with a ``problem``, when too many wait, or a read failed.
    """

    def __init__(self, settings: QueueCacheSettings, rng: Random) -> None:
        self._settings = settings
        self._cached = CachedRange(settings.max_entries)
        self._checkpoint = Checkpointing(settings.topic)
        self._stopping = False
        self._pages = Pages(settings.details_max)
        self._waiting: dict[Origin, Waiting] = {}  # for the coverage to reach them
        self._goal: int | None = None  # count back to here, even if no query waits for it any more
        self._armed = False
        self._asked: list[RangeWanted] = []  # the coverage's wishes as sent to the older poller
        self._fetches = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() | Tick("retention"):
                yield After("retention", RETENTION_CHECK_S)
                if (index := self._cached.index) is not None:
                    yield self._want((index.stop, index.stop))
                yield from self._checkpoint.save(index)
            case PackagesSeen() if origin.role == TAIL_POLLER:
                yield from self._seen(message)
            case PackagesSeen():
                self._cached.fill(message)
                self._pages.fill(message.packages)
                for preview in self._previews():
                    preview.fill(message)
            case RangeDone() if message.log_id == self._cached.log_id:
                yield from self._done(message)
            case QueueQuery() | SizesQuery():
                yield from self._ask(origin, message, now)
            case Tick(key) if key == COUNTING:
                self._armed = False
                yield from self._lose_patience(now)
            case CountersQuery():
                yield Reply(origin, self._counters())
            case PeerUp(role) if role == OLDER_POLLER:
                self._asked = []
                yield from self._serve()
                yield from map(self._want, self._pages.ranges)
                yield from (self._look(preview) for preview in self._previews() if not preview.ready)
            case Done() | Failed() | Stopping():
                yield from self._keep(message)

    def _keep(self, message: Done | Failed | Stopping) -> Iterable[Effect]:
        """The checkpoint was read or written, or is written for the last time."""
        match message:
            case Stopping():
                self._stopping = True
                yield from self._checkpoint.save(self._cached.index)
            case Done(LoadCheckpoint()) | Failed(LoadCheckpoint()):
                found = self._checkpoint.loaded(message)
                if found is not None and found.log_id == self._cached.log_id:
                    self._cached.checkpoint = found
                yield from self._serve()
            case _:
                yield from self._checkpoint.saved(message)
        if self._stopping and not self._checkpoint.is_saving:
            yield Stopped()

    def _counters(self) -> Counters:
        index = self._cached.index
        entries = len(index) + self._cached.older.held if index is not None else 0
        return Counters(
            counters=(
                Counter(name="queue_cache_entries", value=entries),
                Counter(name="queue_cache_fetches_total", value=self._fetches),
            )
        )

    def _seen(self, seen: PackagesSeen) -> Iterable[Effect]:
        if self._cached.add(seen):
            self._goal = None
            self._checkpoint = Checkpointing(self._settings.topic)
            yield from self._refuse("the log was replaced; ask again", previewed=True)
            void = self._pages.void("the log was replaced; ask again")
            yield from (Reply(page.origin, page.answer()) for page in void)
        self._pages.hold(seen.packages)
        yield from self._serve()

    def _done(self, done: RangeDone) -> Iterable[Effect]:
        if self._cached.finish(done):
            self._goal = None
            yield from self._refuse(done.problem)
        if not done.problem:
            self._cached.trim(done.first)
        yield from self._previewed(done)
        yield from (Reply(page.origin, page.answer()) for page in self._pages.finish(done))
        yield from self._serve()

    def _refuse(self, problem: str, *, previewed: bool = False) -> Iterable[Effect]:
        """Answer all waiting queries with the problem; or only those with a preview that is no longer true."""
        for origin, waiting in list(self._waiting.items()):
            if not previewed or waiting.preview is not None:
                del self._waiting[origin]
                yield Reply(origin, refusal(waiting.query, problem))

    def _ask(self, origin: Origin, query: Query, now: Moment) -> Iterable[Effect]:
        if len(self._waiting) + len(self._pages) >= self._settings.max_waiting:
            yield Reply(origin, refusal(query, "too many questions already wait for the log; ask again later"))
            return
        self._waiting[origin] = Waiting(query, now.mono_s + PATIENCE_S, query.end)
        yield from self._serve()
        if origin in self._waiting and not self._armed:
            self._armed = True
            yield After(COUNTING, PATIENCE_S)

    def _serve(self) -> Iterable[Effect]:
        """Answer the queries that can be answered; read what the others need."""
        coverage = self._cached
        if coverage.index is None:
            return
        coverage.join()
        for origin, (query, _, end, _) in list(self._waiting.items()):
            known = coverage.start <= reach(query) and coverage.index.stop >= end
            if known and (answered := list(self._answer(origin, query))):
                del self._waiting[origin]
                yield from answered
        goals = [reach(waiting.query) for waiting in self._waiting.values()]
        goals += [] if self._goal is None else [self._goal]
        if goals and min(goals) < coverage.start:
            yield from self._checkpoint.load(coverage.log_id, coverage.start - min(goals))
            if not self._checkpoint.is_loading:
                coverage.reach(min(goals))
        else:
            self._goal = None
        wishes = [wish for wish in (coverage.wanted, coverage.loading) if wish is not None]
        for wish in wishes:
            if not any(wish is asked for asked in self._asked):
                self._fetches += 1
                yield Send(OLDER_POLLER, wish)
        self._asked = wishes

    def _lose_patience(self, now: Moment) -> Iterable[Effect]:
        """Answer the queries that have waited long enough with what is known, and continue counting."""
        coverage = self._cached
        late = {origin: it for origin, it in self._waiting.items() if it.until_s <= now.mono_s + SLACK_S}
        self._waiting |= {origin: it._replace(end=0) for origin, it in late.items()}
        yield from self._serve()
        for origin, waiting in late.items():
            query, _, _, preview = waiting
            if origin not in self._waiting or coverage.index is None or reach(query) >= coverage.start:
                continue
            if isinstance(query, QueueQuery) and preview is None:
                start = max(reach(query), coverage.first)
                begun = QueuePreview(query, start, min(start + PREVIEW_OFFSETS, coverage.start))
                self._waiting[origin] = waiting._replace(end=0, preview=begun)
                yield self._look(begun)
            elif preview is None or preview.ready:
                yield from self._estimate(origin, query, preview)
        if self._waiting:
            self._armed = True
            first_s = min(waiting.until_s for waiting in self._waiting.values())
            yield After(COUNTING, max(first_s - now.mono_s, AGAIN_S))

    def _estimate(self, origin: Origin, query: Query, preview: QueuePreview | None) -> Iterable[Effect]:
        """The answer as far as known; none while a block is read for it."""
        counted = self._counted(query)
        if counted is None:
            return
        del self._waiting[origin]
        self._goal = reach(query) if self._goal is None else min(self._goal, reach(query))
        if preview is None:
            yield Reply(origin, self._sizes(counted))
        else:
            yield Reply(origin, preview.answer(counted[0], page_limit(preview.query)))

    def _sizes(self, queues: tuple[QueueSize, ...]) -> Sizes:
        return Sizes(queues=queues, publishers=self._cached.publishers[:PUBLISHERS_MAX], log_id=self._cached.log_id)

    def _counted(self, query: Query) -> tuple[QueueSize, ...] | None:
        """The figures of the known parts of the queues; None while a block is read for them."""
        queues = query.queues if isinstance(query, SizesQuery) else (query,)
        counted = [self._cached.counted(wanted(queue)) for queue in queues]
        known = tuple(size for size in counted if size is not None)
        return known if len(known) == len(counted) else None

    def _answer(self, origin: Origin, query: Query) -> Iterable[Effect]:
        """The answer; nothing while a read is needed."""
        coverage = self._cached
        if isinstance(query, SizesQuery):
            sizes = [coverage.size(wanted(queue)) for queue in query.queues]
            known = tuple(size for size in sizes if size is not None)
            if len(known) == len(sizes):
                yield Reply(origin, self._sizes(known))
            return
        size = coverage.size(wanted(query))
        offsets = coverage.page(wanted(query), max(query.skip, 0), page_limit(query))
        if size is None or offsets is None:
            return
        page = self._pages.open(origin, size, offsets, "")
        if page.ranges:
            yield from map(self._want, sorted(page.ranges))
        else:
            yield Reply(origin, page.answer())

    def _previews(self) -> list[QueuePreview]:
        return [waiting.preview for waiting in self._waiting.values() if waiting.preview is not None]

    def _previewed(self, done: RangeDone) -> Iterable[Effect]:
        """A range was read: answer the queries that waited only for it."""
        for origin, (query, _, _, preview) in list(self._waiting.items()):
            if preview is not None and preview.finish(done):
                yield self._look(preview)
            elif preview is not None and preview.ready:
                yield from self._estimate(origin, query, preview)

    def _look(self, preview: QueuePreview) -> Send:
        return self._want((preview.start, preview.stop))

    def _want(self, offsets: Range) -> Send:
        start, stop = offsets
        return Send(OLDER_POLLER, RangeWanted(log_id=self._cached.log_id, start=start, stop=stop))
