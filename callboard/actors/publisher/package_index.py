"""Which packages lie in a contiguous range of the log, and the queues that are views on them."""

from bisect import bisect_left
from heapq import merge
from itertools import islice
from typing import NamedTuple

from callboard.actors.publisher.columns import Columns, View
from callboard.messages.distribution import Kind
from callboard.messages.mailbox import PackagesSeen, PackageSummary, QueueSize

EVERY_QUEUE = ""
"""Where packages go that name no publisher, and cannot be decoded: they block every subscriber."""


def is_queued(package: PackageSummary, publisher: str = "") -> bool:
    """Whether a package is in the queue of a publisher's packages, of everybody's if none is named."""
    if package.kind is Kind.TEST and not package.problem:
        return False
    return not publisher or package.publisher in (publisher, EVERY_QUEUE)


class Queue(NamedTuple):
    """The packages after an offset, merged from views on columns. Good until the index changes."""

    views: tuple[View, ...]

    @property
    def size(self) -> int:
        """How many packages."""
        return sum(view.size for view in self.views)

    @property
    def length(self) -> int:
        """Bytes of content in all of them."""
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
        self.columns: dict[str, Columns] = {}
        """By publisher; none is empty."""

    def __len__(self) -> int:
        return sum(map(len, self.columns.values()))

    @property
    def nbytes(self) -> int:
        """Bytes of memory held by the columns."""
        return sum(columns.nbytes for columns in self.columns.values())

    @property
    def publishers(self) -> tuple[str, ...]:
        """Those that have packages here, sorted."""
        return tuple(sorted(self.columns.keys() - {EVERY_QUEUE}))

    def queue(self, publisher: str, after: int) -> Queue:
        """The packages of a publisher (empty: of all) with an offset greater than ``after``, in O(log n)."""
        names = {publisher, EVERY_QUEUE} if publisher else self.columns.keys()
        return Queue(tuple(self.columns[name].view(after) for name in names if name in self.columns))

    def size(self, publisher: str, after: int) -> QueueSize:
        """The figures of such a queue, in O(log n)."""
        queue = self.queue(publisher, after)
        return QueueSize(
            publisher=publisher,
            after=after,
            size=queue.size,
            length=queue.length,
            oldest_ns=queue.oldest_ns,
            newest=queue.newest,
        )

    def add(self, seen: PackagesSeen) -> None:
        """Take in what begins at or before ``stop``; what is here already is not added twice."""
        assert seen.start <= self.stop
        for package in seen.packages:
            if package.offset < self.stop or not is_queued(package):
                continue
            columns = self.columns.setdefault(package.publisher, Columns())
            columns.append(package.offset, package.time_ns, package.length)
        self.stop = max(self.stop, seen.stop)

    def prepend(self, older: "PackageIndex") -> None:
        """Take in an index that ends where this one starts."""
        assert (older.log_id, older.stop) == (self.log_id, self.start)
        for name, columns in older.columns.items():
            self.columns.setdefault(name, Columns()).prepend(columns)
        self.start = older.start

    def trim(self, first: int) -> None:
        """The log now begins at ``first``; when it does so in here, there is nothing older left to cover."""
        self._drop_below(first)
        if first >= self.start:
            self.start = 0

    def cut(self, count: int) -> "PackageIndex":
        """Take out the oldest ``count`` packages, as an index that ends where this one now starts."""
        older = PackageIndex(self.log_id, self.start)
        (self.start,) = self.queue("", -1).page(count, 1) or (self.stop,)
        older.stop = self.start
        older.columns = _filled({name: columns.cut(self.start) for name, columns in self.columns.items()})
        self.columns = _filled(self.columns)
        return older

    def _drop_below(self, offset: int) -> None:
        for columns in self.columns.values():
            columns.drop_below(offset)
        self.columns = _filled(self.columns)


def _filled(columns: dict[str, Columns]) -> dict[str, Columns]:
    return {name: each for name, each in columns.items() if each}
