"""The packages in a contiguous range of the log, by recipient and publisher."""

from collections.abc import Callable, Iterator

from callboard.actors.publisher.queues.columns import Columns, merged
from callboard.actors.publisher.queues.queue import (
    EVERY_QUEUE,
    FOR_ALL,
    FOR_SOME,
    Queue,
    Streams,
    Wanted,
    is_queued,
)
from callboard.messages.distribution.queue_mail import PackagesSeen, PackageSummary
from callboard.messages.headers import addressees

MANY = 64
"""Number of publishers from which on their packages are merged for subscribers that follow all of them."""
TOGETHER_MAX = 16
"""Recipients for whom merged columns are kept: nearly always it is packages for all."""


class PackageIndex:
    """Every package in ``[start, stop)`` of the log ``log_id``. TEST packages are never queued."""

    def __init__(self, log_id: str, start: int) -> None:
        self.log_id = log_id
        self.start = start
        self.stop = start
        self.streams: Streams[Columns] = {}
        """No stream is empty."""
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
    return {FOR_SOME, *filter(None, addressees(package.recipients))} if package.recipients else {FOR_ALL}


def _filled(
    streams: Streams[Columns], part: Callable[[Columns], Columns] = lambda columns: columns
) -> Streams[Columns]:
    """This part of all columns, without empty ones."""
    parts = {to: {name: part(columns) for name, columns in its.items()} for to, its in streams.items()}
    filled = {to: {name: columns for name, columns in its.items() if columns} for to, its in parts.items()}
    return {to: its for to, its in filled.items() if its}
