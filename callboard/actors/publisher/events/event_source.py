"""One kind of event: read from the last mark on, held until due, and handed out to be written."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from random import Random
from typing import NamedTuple

from callboard.actors.core.decision import Effect, Input, note
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, StartPolicy
from callboard.actors.publisher.events.event_marks import KnownMarks, is_possible, start_of
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.bounds import clipped
from callboard.messages.distribution.package_event import Mark, PackageEvent, shown_paths
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import RecordHeaders, open_record
from callboard.messages.record import Record

MAX_HELD = 1000
"""Events in memory: a source with this many reads on only after some are written."""


TEXT_MAX = 2000
"""Characters of a reason or a user in an event, so that it always fits a record."""


class Found(NamedTuple):
    """An event, and the mark of a source that has not yet written it."""

    mark: Mark
    event: PackageEvent


class EventSource:
    """The events ``created`` and ``queued``: due as soon as the package is read. ``kind`` owns its effects."""

    def __init__(self, kind: str, topic: str, publisher: str, known: KnownMarks, rng: Random) -> None:
        self.kind = kind
        self.publisher = publisher
        self.ready: deque[Found] = deque()
        self.waiting: deque[Found] = deque()  # for what makes them due
        self._written = known.written
        self._marks = known.marks.get(kind, [])
        self._follower = Follower(topic, StartPolicy(partial(start_of, self._marks)), rng, owner=kind)
        self._paused: list[Effect] = []

    @property
    def log_id(self) -> str:
        """The incarnation of the topic being read."""
        return self._follower.log_id

    @property
    def mark(self) -> Mark | None:
        """Where to continue once everything taken from ``ready`` is written; None if unknown."""
        for found in (*list(self.ready)[:1], *list(self.waiting)[:1]):
            return found.mark
        if self._follower.position < 0:
            return None
        return Mark(kind=self.kind, log_id=self.log_id, offset=self._follower.position)

    def start(self) -> Iterable[Effect]:
        """The effects that begin reading."""
        return self._follower.start()

    def handle(self, message: Input) -> Iterable[Effect]:
        """Take in what was read."""
        news, effects = self._follower.handle(message)
        match news:
            case Positioned(bounds=bounds):
                if wrong := [mark.offset for mark in self._marks if not is_possible(mark, bounds)]:
                    yield note("event.mark_ignored", "warning", kind=self.kind, offset=wrong[-1], stop=bounds.end,
                               reason="this mark belongs to another log, or is past the end of this one")  # fmt: skip
            case Delivered(records=records):
                for record in records:
                    yield from self._take(record)
            case OutOfRange(expected, bounds):
                yield note("event.impossible", "warning", kind=self.kind, start=expected, stop=bounds.first,
                           reason="the records were trimmed before their events were written")  # fmt: skip
            case Replaced(log_id):
                yield note("event.impossible", "warning", kind=self.kind, count=len(self.waiting), log_id=log_id,
                           reason="the log was replaced before these events were due")  # fmt: skip
                self.waiting.clear()
        self._paused += effects
        yield from self.go_on()

    def go_on(self) -> Iterable[Effect]:
        """Make due events ready, and read on if there is room."""
        yield from self._release()
        if len(self.ready) + len(self.waiting) < MAX_HELD:
            paused, self._paused = self._paused, []
            yield from paused

    def skip(self) -> Iterable[Effect]:
        """Drop events that another notifier of this publisher has written since."""
        before = len(self.ready) + len(self.waiting)
        for found in (self.ready, self.waiting):
            left = [each for each in found if each.event.dedup_key not in self._written]
            if len(left) < len(found):
                found.clear()
                found.extend(left)
        return self.go_on() if len(self.ready) + len(self.waiting) < before else ()

    def _release(self) -> Iterable[Effect]:
        self.ready += self.waiting
        self.waiting.clear()
        return ()

    def _take(self, record: Record) -> Iterable[Effect]:
        if record.header("publisher") != self.publisher:
            return
        try:
            package = open_record(record, PackageMessage)
        except (SchemaTooNew, Undecodable) as error:
            yield note("event.impossible", "warning", kind=self.kind, start=record.offset, reason=str(error))
            return
        self._hold(record, package_event(self.kind, package, record, self.log_id))

    def _hold(self, record: Record, event: PackageEvent) -> None:
        if event.dedup_key in self._written:
            return
        self.waiting.append(Found(Mark(kind=self.kind, log_id=self.log_id, offset=record.offset), event))


class DistributedStrand(EventSource):
    """The event ``distributed``: due when the slowest subscriber that counts is past the package."""

    def passed(self, offset: int, log_id: str, now_ns: int) -> Iterable[Effect]:
        """All subscribers are past this offset at this moment; a new subscriber may begin further back."""
        while self.waiting and self.log_id == log_id and self.waiting[0].mark.offset <= offset:
            found = self.waiting.popleft()
            self.ready.append(found._replace(event=replace(found.event, time_ns=now_ns)))
        return self.go_on()

    def _release(self) -> Iterable[Effect]:
        return ()


def package_event(kind: str, package: PackageMessage, record: Record, log_id: str) -> PackageEvent:
    """The event about a package on the log. ``created`` carries the time when the publisher had built the package."""
    identity = package.package_id or f"{log_id}@{record.offset}"
    time_ns = RecordHeaders.parse(record.headers).time_ns if kind == "created" else 0
    return PackageEvent(
        kind=kind,
        publisher=package.publisher,
        package_id=package.package_id,
        offset=record.offset,
        dedup_key=f"{kind}/{package.publisher}/{identity}",
        log_id=log_id,
        time_ns=time_ns or record.time_ns,
        paths=shown_paths(package.paths),
        deep_paths=shown_paths(package.deep_paths),
        more_paths=len(package.paths) - len(shown_paths(package.paths)),
        request=package.kind.name,
        user=clipped(package.user, TEXT_MAX),
        length=package.fetched_bytes,
    )
