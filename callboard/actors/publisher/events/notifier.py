"""Writes events about packages to the event topic, with marks of how far it has come."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.claims import lease_s
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import Append
from callboard.actors.publisher.events.event_marks import KnownMarks
from callboard.actors.publisher.events.event_source import DistributedStrand, EventSource
from callboard.actors.publisher.events.outcome_events import OutcomeEvents
from callboard.actors.publisher.fleet.following import slowest
from callboard.actors.publisher.roles import FLEET
from callboard.errors import CallboardError
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView, Liveness, Member
from callboard.messages.distribution.package_event import EventMarks, event_record
from callboard.messages.event import replaced
from callboard.messages.record import NewRecord
from callboard.messages.topics import Topics

BATCH_RECORDS = 500
BATCH_BYTES = 600_000
"""Bytes of events in one append; the smallest log takes 1 MB at once."""

PACE_S = 0.5
"""Between appends: however many packages there are, events cost two appends a second."""

LOOK_S = 1.0
"""Between queries to the fleet, while a package waits to be distributed: subscribers announce at most once a second."""

RENEW_S = 6 * 3600.0
"""How often the marks are written when there are no events, so that retention never removes the newest marks."""


@dataclass(frozen=True, slots=True)
class NotifierSettings:
    """The publisher, the kinds of events (none: nothing is read or written), and the topics."""

    topics: Topics
    publisher: str
    producer: str
    kinds: tuple[str, ...] = ()


class Notifier:
    """Writes the events of one publisher's packages, at least once each, with marks that say how far it has come.

    A successor continues from the marks, see ``start_of``, or without marks at the oldest record, so that no range is
    left out; an event written twice has the same key both times. If a publisher has several notifiers, each drops
    the events that it sees another has written, and none relies on the others.

    Receives: FleetView (fleet), which tells when packages are distributed.
    Sends: FleetQuery (fleet).
    Stores: events and marks on the event topic, in one append; nothing else.
    Timers: "pace", 0.5 s between appends; "look", 1 s between queries to the fleet while a package waits; "renew",
        6 h; "append", the back-off while the log is unavailable, 0.1 to 5 s; those of the followers.
    Gives up: never. A package without an event (trimmed, not decodable) is skipped with a line in the log.
    """

    def __init__(self, settings: NotifierSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._marks = KnownMarks(settings.topics.event, settings.publisher, settings.kinds, rng)
        self._strands: tuple[EventSource, ...] = ()
        self._batch: tuple[NewRecord, ...] = ()  # being appended
        self._resting = False
        self._looking = False
        self._listening_s: float | None = None  # since when the fleet hears live announcements, not history
        self._renew = False
        self._attempt = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Stopping():
                yield Stopped()
                return
            case Started() if self._settings.kinds:
                yield from self._marks.start()
                yield After("renew", RENEW_S)
            case Done(Append()):
                yield from self._written()
            case Failed(Append(), error):
                yield from self._not_written(error)
            case Tick("append"):
                yield Append(self._settings.topics.event, self._batch)
            case Tick("pace"):
                self._resting = False
            case Tick("look"):
                self._looking = False
            case Tick("renew"):
                self._renew = True
                yield After("renew", RENEW_S)
            case FleetView():
                yield from self._look_at(message, now)
            case PeerUp(role) if role == FLEET:
                self._listening_s = None
            case _:
                yield from self._read(message)
        yield from self._go_on(now)

    def _read(self, message: Input) -> Iterable[Effect]:
        owner = message.effect.owner if isinstance(message, Done | Failed) else None  # a timer may belong to any
        for source in self._strands:
            if owner in {None, source.kind}:
                yield from source.handle(message)
        written, replaced = (len(self._marks.written), next(reversed(self._marks.written), "")), self._marks.replaced
        yield from self._marks.handle(message)
        if self._marks.complete and (not self._strands or self._marks.replaced > replaced):
            # Events they dropped as already written may be missing on the new topic.
            self._strands = tuple(self._strand(kind) for kind in self._settings.kinds)
            for source in self._strands:
                yield from source.start()
        if (len(self._marks.written), next(reversed(self._marks.written), "")) != written:
            for source in self._strands:
                yield from source.skip()

    def _strand(self, kind: str) -> EventSource:
        its, known = self._settings, self._marks
        match kind:
            case "imported" | "failed":
                return OutcomeEvents(kind, its.topics.status, its.topics.package, its.publisher, known, self._rng)
            case "distributed":
                return DistributedStrand(kind, its.topics.package, its.publisher, known, self._rng)
            case _:
                return EventSource(kind, its.topics.package, its.publisher, known, self._rng)

    def _look_at(self, view: FleetView, now: Moment) -> Iterable[Effect]:
        if view.unread:
            return  # a subscriber slower than all known ones may be missing
        self._listening_s = now.mono_s if self._listening_s is None else self._listening_s
        heard_s = now.mono_s - self._listening_s
        view = replaced(view, members=tuple(_unless_too_early(member, heard_s) for member in view.members))
        for source in self._strands:
            if isinstance(source, DistributedStrand):
                offset = slowest(view, source.publisher, source.log_id)
                yield from source.passed(offset, source.log_id, now.wall_ns)

    def _go_on(self, now: Moment) -> Iterable[Effect]:
        distributed = (source for source in self._strands if isinstance(source, DistributedStrand))
        if not self._looking and any(source.waiting for source in distributed):
            self._looking = True
            yield Send(FLEET, FleetQuery())
            yield After("look", LOOK_S)
        if self._batch or self._resting or not (self._renew or any(source.ready for source in self._strands)):
            return
        self._batch = tuple(self._take(now))
        self._renew = False
        if self._batch:
            yield Append(self._settings.topics.event, self._batch)

    def _take(self, now: Moment) -> Iterable[NewRecord]:
        """The next events, and the marks after them."""
        producer, records, length = self._settings.producer, 0, 0
        for source in self._strands:
            while source.ready and records < BATCH_RECORDS and length < BATCH_BYTES:
                record = event_record(source.ready.popleft().event, now.wall_ns, producer)
                records, length = records + 1, length + record.nbytes
                yield record
        marks = tuple(mark for source in self._strands if (mark := source.mark) is not None)
        if marks:
            yield event_record(EventMarks(publisher=self._settings.publisher, marks=marks), now.wall_ns, producer)

    def _written(self) -> Iterable[Effect]:
        if self._attempt:
            yield note("events.resumed", publisher=self._settings.publisher)
        self._batch, self._attempt, self._resting = (), 0, True
        yield After("pace", PACE_S)
        for source in self._strands:
            yield from source.go_on()

    def _not_written(self, error: CallboardError) -> Iterable[Effect]:
        self._attempt += 1
        level = "warning" if self._attempt == 1 else "debug"
        yield note("events.failed", level, attempt=self._attempt, error=str(error))
        yield After("append", RETRY.delay_s(self._attempt, self._rng))


HEARD_LEASES = 3
"""A restarted subscriber watches its former instance for more than a lease before it announces itself, and its first
tries may fail."""


def _unless_too_early(member: Member, heard_s: float) -> Member:
    """The member, not counted as gone by the date of its last announcement alone: its clock may be wrong, and it may
    be heard again within a few leases.
    """
    said = member.announcement
    enough_s = HEARD_LEASES * lease_s(said.lease_ms, said.announce_interval_ms)
    if member.liveness is not Liveness.GONE or heard_s > enough_s:
        return member
    return replaced(member, liveness=Liveness.SILENT)
