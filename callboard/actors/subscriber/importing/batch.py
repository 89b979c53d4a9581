"""Consecutive packages from the head of the queue, imported together, and the ledger if all of them succeed."""

from collections.abc import Mapping

from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.subscriber.importing import coalescing
from callboard.actors.subscriber.importing.outcome import Outcome, recorded
from callboard.actors.subscriber.importing.received import Received
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.content.package_format.compression import unpacked_bytes
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, Status
from callboard.messages.record import Record

BLOB_BYTES_ASSUMED = 1 << 20
"""Assumed for each file in the blob store: its size is not in the message, but it is a large one."""


class Batch:
    """The outcomes of consecutive packages. The first is an import, the others are imports or need none.

    A batch is made of packages at hand, and never waits to fill, so only catching up makes it larger than one. If
    several fail together nothing was imported, no attempt counts, and they are retried one at a time. So they are
    after the importer has died: the ledger, stored before the attempt, says up to which offset they were tried.
    """

    def __init__(self, ledger: Ledger, settings: SubscriberSettings, now_ns: int) -> None:
        self._before = ledger
        self._settings = settings
        self._now_ns = now_ns
        self._outcomes: list[Outcome] = []
        self._packages: list[tuple[int, PackageMessage]] = []
        self._traces: dict[int, str] = {}
        self._records: dict[int, Record] = {}
        self._bytes = 0
        self.ledger = ledger
        """The ledger if all succeed."""

    def put(self, received: Received, status: Status | None, reason: str = "") -> None:
        """Set the outcome of the next package; no status means that it is foreign."""
        if status is Status.IMPORTED:
            assert received.message is not None
            if not self._packages:
                self.ledger = ledger_changes.attempting(self._before, received.offset)
            self._packages.append((received.offset, received.message))
            self._traces[received.offset] = received.traceparent
            if received.record is not None:
                self._records[received.offset] = received.record
            self._bytes += weight(received.message)
        outcome = Outcome(received, status, reason)
        self._outcomes.append(outcome)
        self.ledger = recorded(self.ledger, outcome, self._settings, self._now_ns)

    def takes(self, message: PackageMessage) -> bool:
        """Whether another package may be imported together with these."""
        settings, first = self._settings, self._packages[0][0]
        if self._before.apart_until >= first or self._before.attempt_offset == first:
            return False
        room = self._bytes + weight(message) <= settings.batch_bytes
        return room and len(self._packages) < settings.batch_packages

    def attempt(self) -> ImportPackages:
        """The import of these packages, without those fully superseded by a later one."""
        last = self._packages[-1][0]
        attempt = (
            ledger_changes.attempting(self._before, last)
            if len(self._packages) == 1
            else ledger_changes.attempting_together(self._before, last)
        )
        superseded = coalescing.superseded(self._packages) if self._settings.coalesce else {}
        if superseded:
            self._leave_out(superseded)
        offsets, messages = zip(*self._packages, strict=True)
        traces = tuple(map(self._traces.__getitem__, offsets))
        records = tuple(self._records[offset] for offset in offsets if offset in self._records)
        return ImportPackages(messages, offsets, traces, attempt, self.ledger, self._settings.parallel, records=records)

    def _leave_out(self, superseded: Mapping[int, int]) -> None:
        self._packages = [(offset, message) for offset, message in self._packages if offset not in superseded]
        self.ledger = self._before
        for outcome in self._outcomes:
            successor = superseded.get(outcome.received.offset)
            if successor is not None:
                outcome = Outcome(outcome.received, Status.SUPERSEDED, f"replaced by offset {successor}")  # noqa: PLW2901
            self.ledger = recorded(self.ledger, outcome, self._settings, self._now_ns)


def weight(message: PackageMessage) -> int:
    """About how many bytes the package takes in memory or in the spool while it is imported."""
    return max(message.length, unpacked_bytes(message.content)) + BLOB_BYTES_ASSUMED * len(message.blobs)
