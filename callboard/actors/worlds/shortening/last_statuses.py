"""The statuses that are still in use: of packages that were not imported, and those of golden subscribers."""

from collections.abc import Collection, Iterable

from callboard.actors.publisher.errors.status_dedup import StatusDedup, subscriber_of
from callboard.actors.worlds.shortening.topic_fold import TopicFold
from callboard.backends.log import Bounds
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import Original, original_of

LANDED = frozenset({Status.IMPORTED, Status.SUPERSEDED, Status.HOOK_SETTLED})
"""Statuses that no reader asks for later: a package without a status was imported."""

LANDED_NAMES = frozenset(status.name for status in LANDED)
"""The values of the header ``kind``."""

TYPES = (PackageStatusMessage.__name__, "3")


class LastStatuses(TopicFold):
    """The last status of each package at each subscriber, where it matters.

    Error queues, ``explain`` and ``verify`` use those of packages that were not imported; staged subscribers, present
    and future, use all those of the golden ones.

    Args:
        topic: of statuses.
        golden: the names of golden subscribers.
        bounds: the packages that the log has. Statuses of other packages are not needed.
    """

    def __init__(self, topic: str, golden: Collection[str], bounds: Bounds) -> None:
        super().__init__(topic)
        self._golden, self._bounds = golden, bounds
        self.start_over()

    def start_over(self) -> None:
        """See ``TopicFold``."""
        super().start_over()
        self._dedup = StatusDedup()
        self._spoke: dict[str, int] = {}  # by subscriber, the offset of its last status
        self._last: dict[str, dict[int, tuple[int, int]]] = {}  # by subscriber and package, its last and first offset

    def needed(self) -> Iterable[int]:
        """See ``TopicFold``."""
        first, end = self._bounds
        for packages in self._last.values():
            yield from (at for package, (at, _) in packages.items() if first <= package < end)

    def needs(self, record: Record) -> bool:
        """See ``TopicFold``."""
        status = open_record(record, PackageStatusMessage)
        at, _ = self._last.get(status.subscriber, {}).get(status.offset, (-1, -1))
        return at == record.offset

    def fold(self, record: Record, seen_ns: int) -> None:
        """See ``TopicFold``."""
        headers = dict(record.headers)
        subscriber, original = subscriber_of(headers), original_of(record)
        if original is None:
            self._spoke[subscriber] = record.offset
            new = self._dedup.goes_on(headers, record.time_ns)
            if new and headers.get("kind") in LANDED_NAMES and not self._concerned(subscriber):
                return
        if headers.get("type") not in TYPES:
            return
        try:
            status = open_record(record, PackageStatusMessage)
        except SchemaTooNew as error:
            self.trouble(f"{error}: it may be of a package that was not imported", seen_ns)
            return
        except Undecodable:
            return  # no reader needs it
        if original is not None:
            self._hear_again(status, record.offset, original, subscriber)
        elif new or self._dedup.starts_over(headers, status.time_ns, record.time_ns):
            self._hear(status, record.offset)

    def _concerned(self, subscriber: str) -> bool:
        return not subscriber or subscriber in self._golden or bool(self._last.get(subscriber))

    def _hear(self, status: PackageStatusMessage, offset: int) -> None:
        packages = self._last.setdefault(status.subscriber, {})
        packages.pop(status.offset, None)
        if status.status not in LANDED or status.subscriber in self._golden:
            packages[status.offset] = offset, offset

    def _hear_again(self, status: PackageStatusMessage, offset: int, original: Original, subscriber: str) -> None:
        if self._spoke.get(subscriber, -1) >= original.read_to:
            return  # it may be outdated
        packages = self._last.setdefault(status.subscriber, {})
        _, known = packages.get(status.offset, (-1, -1))
        if known == original.offset or (known < 0 and original.offset < self._first_read):
            packages[status.offset] = offset, original.offset
