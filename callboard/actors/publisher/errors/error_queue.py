"""The error queues: packages that a subscriber gave up, set aside, or imported without finishing their hooks."""

from dataclasses import dataclass, field

from callboard.messages.bounds import clipped
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.event import replaced

FAILURES = frozenset({Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED})
"""What puts a package into an error queue; any other status takes it out."""

REASON_MAX = 2500
"""Characters of a reason in an error queue: a bit more than subscribers of this version tell."""

QUEUES_MAX = 20_000
"""Error queues, however short: anybody can tell of failures in any name. The oldest goes first."""

SUCCESSES = frozenset(status.name for status in Status if status not in FAILURES)
"""As the header ``kind`` of a status has them."""

Name = tuple[str, str]
"""Subscriber and publisher."""


@dataclass(slots=True)
class ErrorQueue:
    """The failures of one subscriber with packages of one publisher, by ascending offset."""

    errors: dict[int, PackageStatusMessage] = field(default_factory=dict)
    dropped: int = 0
    """Failures older than these that memory had no room for."""

    def add(self, status: PackageStatusMessage) -> None:
        """Take in a failure. One at an offset that is here already takes its place."""
        status = replaced(status, reason=clipped(status.reason, REASON_MAX))
        late = bool(self.errors) and status.offset < next(reversed(self.errors))
        self.errors[status.offset] = status
        if late:  # rare: a subscriber that was set back, or a package that was set aside for long
            self.errors = dict(sorted(self.errors.items()))

    def drop(self, count: int) -> None:
        """Forget the oldest, but count them."""
        for offset in list(self.errors)[:count]:
            del self.errors[offset]
        self.dropped += count

    def of(self, status: Status) -> int:
        """How many of the failures are of this kind."""
        return sum(error.status is status for error in self.errors.values())


class ErrorQueues:
    """All error queues, ``most`` failures altogether. The last status of a package at a subscriber holds.

    An offset stands for one package, whoever published it: what a subscriber says of it after the log was replaced is
    about the package that is there now, and takes the former one out of the queue of another publisher.
    """

    def __init__(self, most: int, most_queues: int = QUEUES_MAX) -> None:
        self._most_queues = most_queues
        self.by_name: dict[Name, ErrorQueue] = {}
        self._most = most
        self._size = 0
        self._publishers: dict[str, set[str]] = {}  # by subscriber, of whose packages it has failed at any so far

    def concerned(self, kind: str, producer: str) -> bool:
        """Whether a status with these headers can change anything: most tell of an import at one who failed nothing."""
        return kind not in SUCCESSES or producer.partition("/")[0] in self._publishers

    def take_again(self, status: PackageStatusMessage) -> int:
        """Take in a status that is repeated, and so older than any that is known of its package."""
        if status.status not in FAILURES or self._known(status.subscriber, status.offset) is not None:
            return 0
        return self.take(status)

    def take(self, status: PackageStatusMessage) -> int:
        """Take in a new status, none that is repeated; how many failures were dropped to make room for it."""
        known = self._known(status.subscriber, status.offset)
        failed = status.status in FAILURES
        if known is not None and not (failed and known.publisher == status.publisher):
            self._settle(known)
            known = None
        if not failed:
            return 0
        self._publishers.setdefault(status.subscriber, set()).add(status.publisher)
        self.by_name.setdefault((status.subscriber, status.publisher), ErrorQueue()).add(status)
        self._size += known is None
        dropped = self._forget(next(iter(self.by_name))) if len(self.by_name) > self._most_queues else 0
        return dropped + (self._make_room() if self._size > self._most else 0)

    def _known(self, subscriber: str, offset: int) -> PackageStatusMessage | None:
        """The failure at this offset, whosever package it was about."""
        queues = (self.by_name.get((subscriber, publisher)) for publisher in self._publishers.get(subscriber, ()))
        return next((queue.errors[offset] for queue in queues if queue and offset in queue.errors), None)

    def _settle(self, known: PackageStatusMessage) -> None:
        name = (known.subscriber, known.publisher)
        queue = self.by_name[name]
        del queue.errors[known.offset]
        self._size -= 1
        if not queue.errors and not queue.dropped:
            self._forget(name)

    def _forget(self, name: Name) -> int:
        """Drop a whole queue; how many failures were in it."""
        subscriber, publisher = name
        errors = len(self.by_name.pop(name).errors)
        self._size -= errors
        self._publishers[subscriber].discard(publisher)
        if not self._publishers[subscriber]:
            del self._publishers[subscriber]
        return errors

    def _make_room(self) -> int:
        """Drop the oldest sixteenth of the longest queue: one long history of failures must not hide the others."""
        longest = max(self.by_name.values(), key=lambda queue: len(queue.errors))
        count = max(len(longest.errors) // 16, 1)
        longest.drop(count)
        self._size -= count
        return count
