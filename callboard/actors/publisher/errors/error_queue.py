"""The error queues: packages that a subscriber gave up, quarantined, or imported without finishing their hooks."""

from dataclasses import dataclass, field

from callboard.messages.bounds import clipped
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.event import replaced

FAILURES = frozenset({Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED})
"""What puts a package into an error queue; any other status takes it out."""

REASON_MAX = 2500
"""Characters of a reason in an error queue: slightly more than subscribers of this version send."""

QUEUES_MAX = 20_000
"""Number of error queues, however short: anyone can report failures under any name. The oldest is dropped first."""

SUCCESSES = frozenset(status.name for status in Status if status not in FAILURES)
"""The values of the header ``kind`` of a status."""

Name = tuple[str, str]
"""Subscriber and publisher."""


@dataclass(slots=True)
class ErrorQueue:
    """The failures of one subscriber with packages of one publisher, by ascending offset."""

    errors: dict[int, PackageStatusMessage] = field(default_factory=dict)
    dropped: int = 0
    """Older failures dropped because memory was full."""

    def add(self, status: PackageStatusMessage) -> None:
        """Add a failure. It replaces one at the same offset."""
        status = replaced(status, reason=clipped(status.reason, REASON_MAX))
        late = bool(self.errors) and status.offset < next(reversed(self.errors))
        self.errors[status.offset] = status
        if late:  # rare: a subscriber that was moved back, or a package quarantined for long
            self.errors = dict(sorted(self.errors.items()))

    def drop(self, count: int) -> None:
        """Drop the oldest ``count`` failures, but keep counting them."""
        for offset in list(self.errors)[:count]:
            del self.errors[offset]
        self.dropped += count

    def of(self, status: Status) -> int:
        """How many failures have this status."""
        return sum(error.status is status for error in self.errors.values())


class ErrorQueues:
    """All error queues, at most ``most`` failures in total. The last status of a package at a subscriber wins.

    An offset stands for one package, of any publisher: a status sent after the log was replaced is about the new
    package at that offset, and removes the former one from the queue of another publisher.
    """

    def __init__(self, most: int, most_queues: int = QUEUES_MAX) -> None:
        self._most_queues = most_queues
        self.by_name: dict[Name, ErrorQueue] = {}
        self._most = most
        self._size = 0
        self._publishers: dict[str, set[str]] = {}  # by subscriber, the publishers it has failed a package of

    def concerned(self, kind: str, producer: str) -> bool:
        """Whether a status with these headers can change anything: most report an import where nothing has failed."""
        return kind not in SUCCESSES or producer.partition("/")[0] in self._publishers

    def take_again(self, status: PackageStatusMessage) -> int:
        """Add a repeated status, which is older than any known status of its package."""
        if status.status not in FAILURES or self._known(status.subscriber, status.offset) is not None:
            return 0
        return self.take(status)

    def take(self, status: PackageStatusMessage) -> int:
        """Add a new status, not a repeated one; return how many failures were dropped to make room for it."""
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
        """The failure at this offset, of any publisher."""
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
        """Drop a whole queue; return how many failures were in it."""
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
