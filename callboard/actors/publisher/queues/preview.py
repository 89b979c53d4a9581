"""A preview of a queue that is not counted yet: its first packages."""

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from callboard.actors.publisher.queues.queries import Query, wanted
from callboard.actors.publisher.queues.queue import is_queued
from callboard.messages.distribution.queue_mail import (
    PackagesSeen,
    PackageSummary,
    QueuePage,
    QueueQuery,
    QueueSize,
    RangeDone,
)
from callboard.messages.event import replaced

PREVIEW_OFFSETS = 500
"""Offsets that a preview covers from the queue's head: one read of the log. A page is rarely longer."""


@dataclass(slots=True)
class QueuePreview:
    """The records ``[start, stop)`` at the head of the queue, while they are being read."""

    query: QueueQuery
    start: int
    stop: int
    ready: bool = False
    problem: str = ""
    _found: dict[int, PackageSummary] = field(default_factory=dict)

    def fill(self, seen: PackagesSeen) -> None:
        """Add what was read of this range; ignore anything else."""
        if self.ready or seen.stop <= self.start or seen.start >= self.stop:
            return
        mine = wanted(self.query)
        for package in seen.packages:
            if is_queued(package, mine) and self.start <= package.offset < self.stop:
                self._found[package.offset] = package

    def finish(self, done: RangeDone) -> bool:
        """The range was read, if ``done`` is about it. True if reading continues at the new start of the log."""
        if self.ready or (done.start, done.stop) != (self.start, self.stop):
            return False
        if not done.problem and done.first >= self.stop:
            self.start, self.stop = done.first, done.first + PREVIEW_OFFSETS
            return True
        self.ready, self.problem = True, done.problem
        return False

    def answer(self, counted: QueueSize, limit: int) -> QueuePage:
        """The page, with the count of the queue so far."""
        found = [self._found[offset] for offset in sorted(self._found)]
        oldest_ns = found[0].time_ns if found else counted.oldest_ns
        queue = replaced(counted, oldest_ns=oldest_ns)
        skip = max(self.query.skip, 0)
        return QueuePage(queue=queue, packages=tuple(islice(found, skip, skip + limit)), problem=self.problem)


class Waiting(NamedTuple):
    """A query, until when it waits for an exact answer, how far the log must be read until then, and for a page
    the preview to show before that.
    """

    query: Query
    until_s: float
    end: int
    preview: QueuePreview | None = None
