"""The details of shown packages: a bounded memory of them, and pages that wait for details to be read."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from callboard.actors.core.decision import Origin
from callboard.messages.distribution.queue_mail import PackageSummary, QueuePage, QueueSize, RangeDone

Range = tuple[int, int]
"""Offsets ``[start, stop)``."""

READ_THROUGH = 16
"""Reading up to this many unneeded offsets is cheaper than another read."""


class Details:
    """The summaries seen or shown last, at most ``most`` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[int, PackageSummary] = OrderedDict()

    def hold(self, package: PackageSummary) -> None:
        """Remember a package; the least recently used one is dropped."""
        self._held[package.offset] = package
        self._held.move_to_end(package.offset)
        if len(self._held) > self._most:
            self._held.popitem(last=False)

    def find(self, offsets: Iterable[int]) -> Iterator[PackageSummary]:
        """The remembered ones of the packages at these offsets."""
        for offset in offsets:
            if offset in self._held:
                self._held.move_to_end(offset)
                yield self._held[offset]

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()


class Page:
    """A page for ``origin``: complete, or waiting for ``ranges`` of the log to be read."""

    def __init__(
        self,
        origin: Origin,
        queue: QueueSize,
        offsets: Sequence[int],
        held: Iterable[PackageSummary],
        problem: str = "",
    ) -> None:
        self.origin = origin
        self.problem = problem
        self._queue = queue
        self._packages: dict[int, PackageSummary | None] = dict.fromkeys(offsets)
        self._packages.update((package.offset, package) for package in held)
        self.ranges = set(_ranges(offset for offset, package in self._packages.items() if package is None))

    def lacks(self, package: PackageSummary) -> bool:
        """Whether it waits for this package."""
        return package.offset in self._packages and self._packages[package.offset] is None

    def fill(self, package: PackageSummary) -> None:
        """Add a package that the page lacks."""
        self._packages[package.offset] = package

    def finish(self, done: RangeDone) -> None:
        """A range was read; packages not found in it and no longer on the log are left out of the page."""
        if (done.start, done.stop) not in self.ranges:
            return
        self.ranges.remove((done.start, done.stop))
        unread = any(
            package is None and max(done.start, done.first) <= offset < done.stop
            for offset, package in self._packages.items()
        )
        if done.problem or unread:
            self.problem = done.problem or "some packages of the page could not be read; ask again"

    def answer(self) -> QueuePage:
        """The reply, once there are no more ``ranges`` to wait for."""
        packages = tuple(package for package in self._packages.values() if package is not None)
        return QueuePage(queue=self._queue, packages=packages, problem=self.problem)


class Pages:
    """The pages that wait, and the details for them."""

    def __init__(self, details_max: int) -> None:
        self._details = Details(details_max)
        self._waiting: list[Page] = []

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def ranges(self) -> list[Range]:
        """All ranges to read for the waiting pages."""
        return sorted({wanted for page in self._waiting for wanted in page.ranges})

    def hold(self, packages: Iterable[PackageSummary]) -> None:
        """Remember new packages, which are likely to be viewed."""
        for package in packages:
            self._details.hold(package)

    def open(self, origin: Origin, queue: QueueSize, offsets: Sequence[int], problem: str) -> Page:
        """A page of these packages, which waits here if it has ``ranges`` to be read."""
        page = Page(origin, queue, offsets, self._details.find(offsets), problem)
        if page.ranges:
            self._waiting.append(page)
        return page

    def fill(self, packages: Iterable[PackageSummary]) -> None:
        """Add what was read. Remember only what is shown: a long range would push out everything else."""
        for package in packages if self._waiting else ():
            lacking = [page for page in self._waiting if page.lacks(package)]
            for page in lacking:
                page.fill(package)
            if lacking:
                self._details.hold(package)

    def finish(self, done: RangeDone) -> list[Page]:
        """A range was read. Return the pages that are now complete, which wait no longer."""
        for page in self._waiting:
            page.finish(done)
        complete = [page for page in self._waiting if not page.ranges]
        self._waiting = [page for page in self._waiting if page.ranges]
        return complete

    def void(self, problem: str) -> list[Page]:
        """Discard everything; return the waiting pages with the problem, which wait no longer."""
        void, self._waiting = self._waiting, []
        for page in void:
            page.problem = problem
        self._details.clear()
        return void


def _ranges(offsets: Iterable[int]) -> Iterator[Range]:
    """Few ranges that cover ascending offsets, without reading many unneeded ones."""
    start = stop = -1
    for offset in offsets:
        if start >= 0 and offset - stop > READ_THROUGH:
            yield start, stop
            start = -1
        start, stop = (offset if start < 0 else start), offset + 1
    if start >= 0:
        yield start, stop
