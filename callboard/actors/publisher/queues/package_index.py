"""The packages in a contiguous range of the log, and the queues, which are views on them."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeVar

from callboard.actors.publisher.queues.columns import Columns, View, merged
from callboard.messages.distribution.mailbox import PackagesSeen, PackageSummary
from callboard.messages.distribution.topic_messages import Kind

EVERY_QUEUE = ""
"""The stream of packages that name no publisher, or cannot be decoded: they block every subscriber."""


FOR_ALL = ""
"""The recipient of packages that name none."""

FOR_SOME = None
"""The stream where a package that names recipients is listed once, for queries that name no subscriber. It is listed
for each recipient, too: an entry of 24 bytes each, so that the queue of one costs no more if there are many."""

MANY = 64
"""Number of publishers from which on their packages are merged for subscribers that follow all of them."""
TOGETHER_MAX = 16
"""Recipients for whom merged columns are kept: nearly always it is packages for all."""

T = TypeVar("T")
Streams = dict[str | None, dict[str, T]]
"""By recipient, then by publisher."""


class Wanted(NamedTuple):
    """Packages after an offset, of a publisher (empty: of all), for a subscriber (empty: for any)."""

    publisher: str
    after: int
    subscriber: str = ""

    def select(self, streams: Streams[T]) -> Iterator[T]:
        """The streams that contain these packages."""
        for recipient in (FOR_ALL, self.subscriber or FOR_SOME):
            found = streams.get(recipient, {})
            names = {self.publisher, EVERY_QUEUE} if self.publisher else found.keys()
            yield from (found[name] for name in names if name in found)


def is_queued(package: PackageSummary, wanted: Wanted = Wanted("", -1)) -> bool:  # noqa: B008 - it cannot change
    """Whether a package is among these."""
    if package.kind is Kind.TEST and not package.problem:
        return False
    ours = not wanted.publisher or package.publisher in (wanted.publisher, EVERY_QUEUE)
    meant = not (wanted.subscriber and package.recipients) or wanted.subscriber in package.recipients
    return ours and meant and package.offset > wanted.after


class Queue(NamedTuple):
    """The packages after an offset, merged from views on columns. Valid until the index changes."""

    views: tuple[View, ...]

    @property
    def size(self) -> int:
        """How many packages."""
        return sum(view.size for view in self.views)

    @property
    def length(self) -> int:
        """Bytes to fetch for all of them."""
        return sum(view.length for view in self.views)

    @property
    def oldest_ns(self) -> int:
        """When the first was appended; 0 for an empty queue."""
        heads = [(view.page(-1, 1)[0], view.oldest_ns) for view in self.views if view.size]
        return min(heads)[1] if heads else 0

    @property
    def newest(self) -> int:
        """The offset of the last; -1 for an empty queue."""
        return max((view.newest for view in self.views), default=-1)

    def through(self, offset: int) -> int:
        """How many have an offset of at most ``offset``."""
        return sum(view.through(offset) for view in self.views)

    def page(self, skip: int, limit: int) -> tuple[int, ...]:
        """``limit`` offsets after the first ``skip``. Bisects, so a far page costs no more than the first."""
        before = bisect_left(range(self.newest + 1), skip, key=self.through) if skip else -1
        return tuple(islice(merge(*(view.page(before, limit) for view in self.views)), limit))


class PackageIndex:
    """Every package in ``[start, stop)`` of the log ``log_id``. TEST packages are never queued."""

    def __init__(self, log_id: str, start: int) -> None:
        self.log_id = log_id
        self.start = start
        self.stop = start
        self.streams: Streams[Columns] = {}
        """None is empty."""
        self._together: dict[str | None, Columns] = {}  # of many publishers, by recipient, until the next change

    def __len__(self) -> int:
        """How many entries: one for a package, plus one for each recipient that it names."""
        return sum(map(len, self._columns))

    @property
    def nbytes(self) -> int:
        """Bytes of memory held by the columns."""
        return sum(columns.nbytes for columns in self._columns)

    @property
    def publishers(self) -> tuple[str, ...]:
        """Publishers that have packages here, sorted."""
        return tuple(sorted({name for its in self.streams.values() for name in its} - {EVERY_QUEUE}))

    def queue(self, wanted: Wanted) -> Queue:
        """These packages, in O(log n) for each named publisher, or for all of them if they are many."""
        return Queue(tuple(columns.view(wanted.after) for columns in self._selected(wanted)))

    def _selected(self, wanted: Wanted) -> Iterator[Columns]:
        if wanted.publisher:
            yield from wanted.select(self.streams)
            return
        for recipient in (FOR_ALL, wanted.subscriber or FOR_SOME):
            its = self.streams.get(recipient, {})
            if len(its) > MANY and recipient not in self._together:
                if len(self._together) >= TOGETHER_MAX:
                    self._together.clear()
                self._together[recipient] = merged(its.values())
            yield from [self._together[recipient]] if len(its) > MANY else its.values()

    def add(self, seen: PackagesSeen) -> None:
        """Add packages that begin at or before ``stop``; those already here are not added twice."""
        assert seen.start <= self.stop
        for package in seen.packages:
            if package.offset < self.stop or not is_queued(package):
                continue
            for recipient in _streams_of(package):
                columns = self._stream(recipient, package.publisher)
                columns.append(package.offset, package.time_ns, package.length)
                self._together.pop(recipient, None)
        self.stop = max(self.stop, seen.stop)

    def prepend(self, older: "PackageIndex") -> None:
        """Add an index that ends where this one starts."""
        assert (older.log_id, older.stop) == (self.log_id, self.start)
        for recipient, its in older.streams.items():
            for publisher, columns in its.items():
                self._stream(recipient, publisher).prepend(columns)
        self._together.clear()
        self.start = older.start

    def trim(self, first: int) -> None:
        """The log now begins at ``first``; if that is in here, there is nothing older to cover."""
        self._drop_below(first)
        self._together.clear()
        if first >= self.start:
            self.start = 0

    def cut(self, count: int) -> "PackageIndex":
        """Remove the oldest ``count`` entries and return them as an index that ends where this one now starts."""
        older = PackageIndex(self.log_id, self.start)
        everything = Queue(tuple(columns.view(-1) for columns in self._columns))
        (self.start,) = everything.page(count, 1) or (self.stop,)
        older.stop = self.start
        older.streams = _filled(self.streams, lambda columns: columns.cut(self.start))
        self._together.clear()
        self.streams = _filled(self.streams)
        return older

    @property
    def _columns(self) -> Iterator[Columns]:
        return (columns for its in self.streams.values() for columns in its.values())

    def _stream(self, recipient: str | None, publisher: str) -> Columns:
        return self.streams.setdefault(recipient, {}).setdefault(publisher, Columns())

    def _drop_below(self, offset: int) -> None:
        for columns in self._columns:
            columns.drop_below(offset)
        self.streams = _filled(self.streams)


def _streams_of(package: PackageSummary) -> set[str | None]:
    """Each stream once, even if the record names it twice; an empty name is no recipient."""
    return {FOR_SOME, *filter(None, package.recipients)} if package.recipients else {FOR_ALL}


def _filled(
    streams: Streams[Columns], part: Callable[[Columns], Columns] = lambda columns: columns
) -> Streams[Columns]:
    """This part of all columns, without empty ones."""
    parts = {to: {name: part(columns) for name, columns in its.items()} for to, its in streams.items()}
    filled = {to: {name: columns for name, columns in its.items() if columns} for to, its in parts.items()}
    return {to: its for to, its in filled.items() if its}
