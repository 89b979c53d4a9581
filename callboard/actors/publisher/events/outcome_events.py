"""The events ``imported`` and ``failed``: what subscribers report about packages, with the paths from the log."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Tick, note
from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.publisher.events.event_marks import KnownMarks
from callboard.actors.publisher.events.event_source import TEXT_MAX, EventSource, package_event
from callboard.errors import OffsetOutOfRange, SchemaTooNew, Undecodable
from callboard.messages.bounds import clipped
from callboard.messages.distribution.package_event import PackageEvent
from callboard.messages.distribution.topic_messages import (
    CommandResultMessage,
    PackageMessage,
    PackageStatusMessage,
    Status,
)
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of
from callboard.messages.untrusted import distrust_of

OUTCOMES = {
    "imported": (Status.IMPORTED,),
    "failed": (Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED),
}
"""The statuses that each kind reports."""

READ_AHEAD = 100
"""Packages read at once: statuses come roughly in the order of the packages."""
KNOWN_MAX = 1000
"""Packages remembered for other subscribers' statuses; some hundred bytes each, 40 kB at most."""


class OutcomeEvents(EventSource):
    """Follows the status topic; an event is due as soon as its package was looked up."""

    def __init__(
        self, kind: str, topic: str, package_topic: str, publisher: str, known: KnownMarks, rng: Random
    ) -> None:
        super().__init__(kind, topic, publisher, known, rng)
        self._package_topic = package_topic
        self._known: OrderedDict[int, PackageEvent | None] = OrderedDict()
        self._reading: ReadLog | None = None
        self._timer = f"look up {kind}"
        self._attempt = 0
        self._rng = rng

    def handle(self, message: Input) -> Iterable[Effect]:
        """Handle statuses and packages."""
        match message:
            case Done(effect, LogRead() as read) if effect == self._reading:
                self._looked_up(effect.start, read)
                yield from self.go_on()
            case Failed(effect, OffsetOutOfRange()) if effect == self._reading:
                self._looked_up(effect.start, LogRead("", (), 0))
                yield from self.go_on()
            case Failed(effect, _) if effect == self._reading:
                self._attempt += 1
                yield After(self._timer, RETRY.delay_s(self._attempt, self._rng))
            case Tick(self._timer) if self._reading is not None:
                yield self._reading
            case _:
                yield from super().handle(message)

    def _looked_up(self, offset: int, read: LogRead) -> None:
        """Remember the packages that were read; one that is gone has no paths to report."""
        self._reading, self._attempt = None, 0
        self._known[offset] = None
        for record in read.records:
            try:
                package = open_record(record, PackageMessage)
            except (SchemaTooNew, Undecodable):
                self._known[record.offset] = None
                continue
            self._known[record.offset] = package_event(self.kind, package, record, read.log_id)
        while len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)

    def _release(self) -> Iterable[Effect]:
        while self.waiting and self._reading is None:
            found = self.waiting[0]
            offset = found.event.offset
            if offset not in self._known:
                self._reading = ReadLog(self._package_topic, offset, max_records=READ_AHEAD, owner=self.kind)
                yield self._reading
                return
            self.waiting.popleft()
            self.ready.append(found._replace(event=_completed(found.event, self._known[offset])))

    def _take(self, record: Record) -> Iterable[Effect]:
        if original_of(record) is not None or distrust_of(record):
            return  # reported when it was new, or not to be reported at all
        try:
            status = open_record(record, (PackageStatusMessage, CommandResultMessage))
        except (SchemaTooNew, Undecodable) as error:
            yield note("event.impossible", "warning", kind=self.kind, start=record.offset, reason=str(error))
            return
        if not isinstance(status, PackageStatusMessage) or status.publisher != self.publisher:
            return
        if status.status in OUTCOMES[self.kind]:
            self._hold(record, outcome_event(self.kind, status, record))


def outcome_event(kind: str, status: PackageStatusMessage, record: Record) -> PackageEvent:
    """The event about a package at a subscriber. The subscriber's number tells a repeated status from a new one."""
    identity = f"{status.subscriber}/{status.subscriber_instance}/{status.sequence or record.offset}"
    return PackageEvent(
        kind=kind,
        publisher=status.publisher,
        package_id=status.package_id,
        offset=status.offset,
        dedup_key=f"{kind}/{status.publisher}/{status.package_id}/{identity}",
        time_ns=status.time_ns or record.time_ns,
        subscriber=status.subscriber,
        subscriber_instance=status.subscriber_instance,
        outcome=status.status.name,
        reason=clipped(status.reason, TEXT_MAX),
        attempts=status.attempts,
    )


def _completed(event: PackageEvent, package: PackageEvent | None) -> PackageEvent:
    """The event with what the log knows of its package."""
    if package is None or package.package_id != event.package_id:
        return event
    return replace(
        event,
        log_id=package.log_id,
        paths=package.paths,
        deep_paths=package.deep_paths,
        more_paths=package.more_paths,
        request=package.request,
        user=package.user,
        length=package.length,
    )
