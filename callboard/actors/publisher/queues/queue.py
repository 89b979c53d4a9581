"""The queue of a subscriber: its size, and its pages. A queue is a view on the packages; nothing is stored for it.

For a page, ``queue_cache.py`` takes offsets from here, through ``cached_range.py``, which joins older blocks with the
index; ``page_details.py`` adds the details.
"""

from bisect import bisect_left
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeVar

from callboard.actors.publisher.queues.columns import View
from callboard.messages.distribution.queue_mail import PackageSummary
from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.headers import addressees

EVERY_QUEUE = ""
"""The stream of packages that name no publisher, or cannot be decoded: they block every subscriber."""

FOR_ALL = ""
"""The recipient of packages that name none."""

FOR_SOME = None
"""The stream where a package that names recipients is listed once, for queries that name no subscriber. It is listed
for each recipient, too: an entry of 24 bytes each, so that the queue of one costs no more if there are many."""

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
    meant = not (wanted.subscriber and package.recipients) or wanted.subscriber in addressees(package.recipients)
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
