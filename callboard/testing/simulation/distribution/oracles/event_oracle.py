"""The oracle of package events: each is true and written once by its key, and none is missing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.package_event import EventMarks, PackageEvent, open_event
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.record import Record
from callboard.testing.simulation.distribution.scene import Scene

STATUSES_OF = {
    "imported": (Status.IMPORTED,),
    "failed": (Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED),
}
"""The statuses that events report."""

PACKAGE_KINDS = ("created", "queued", "distributed")

What = tuple[str, str, str, str, str, str]
"""Kind of event, publisher, package, and of an outcome the subscriber, its instance and the status."""


def what(event: PackageEvent) -> What:
    """The meaning of an event."""
    package = _package(event.package_id, event.offset)
    return event.kind, event.publisher, package, event.subscriber, event.subscriber_instance, event.outcome


@dataclass(slots=True)
class EventOracle:
    """Checks every record of the event topic.

    Args:
        scene: knows what has happened.
        keys: whether the log drops records with a repeated key.
        passed: the positions, by name, that subscribers have announced, of those that this publisher waits for.
    """

    scene: Scene
    keys: bool
    passed: Callable[[str], Mapping[str, int]]
    events: dict[str, PackageEvent] = field(default_factory=dict)
    """By key."""
    count: Counter[What] = field(default_factory=Counter)
    """Keys under which the same event is reported."""

    def appended(self, record: Record) -> None:
        """An event is on the log."""
        try:
            event = open_event(record)
        except (Undecodable, SchemaTooNew) as error:
            self.scene.wrong("an event can be read", str(error))
            return
        if isinstance(event, EventMarks):
            return
        before = self.events.get(event.dedup_key)
        if before is not None:
            self.scene.demand(what(before) == what(event), "a repeated event has its key", f"{before}, then {event}")
            self.scene.demand(not self.keys, "an event is written once", f"{event}")
            return
        self.events[event.dedup_key] = event
        self.count[what(event)] += 1
        self._check(event)

    def forget(self) -> None:
        """The log was exchanged; it has other events."""
        self.events.clear()
        self.count.clear()

    def missing(self, publisher: str) -> str:
        """What has happened to this publisher's packages and was not reported so far."""
        gone, reported = self.scene.shortening.gone, self.scene.statuses.values()
        left = (status for of_one in reported for identity, status in of_one.items() if identity not in gone)
        due = _outcomes(publisher, left)
        for sent in self.scene.packages.values():
            mine = sent.act.publisher == publisher and sent.act.harm != "newer"
            if mine and sent.offset >= self.scene.first():
                due.update((kind, publisher, sent.record_id, "", "", "") for kind in PACKAGE_KINDS)
        return "; ".join(f"{number} of {line}" for line, number in (due - self.count).items())

    def _check(self, event: PackageEvent) -> None:
        if event.kind in STATUSES_OF:
            happened = _outcomes(event.publisher, self.scene.ever.values())[what(event)]
        else:
            shipped = (history.packages.get(event.offset) for history in self.scene.histories)
            package = event.package_id, event.publisher
            happened = any(sent is not None and (sent.record_id, sent.act.publisher) == package for sent in shipped)
        times = self.count[what(event)]
        self.scene.demand(times <= happened, "an event tells what has happened", f"{event}: {times} of {happened}")
        if event.kind == "distributed":
            late = {name: at for name, at in self.passed(event.publisher).items() if at < event.offset}
            self.scene.demand(not late, "what is distributed is everywhere", f"{event}, but {late}")


def _outcomes(publisher: str, statuses: Iterable[PackageStatusMessage]) -> Counter[What]:
    return Counter(
        _outcome(kind, status)
        for status in statuses
        for kind, statuses_of in STATUSES_OF.items()
        if status.publisher == publisher and status.status in statuses_of
    )


def _outcome(kind: str, status: PackageStatusMessage) -> What:
    package = _package(status.package_id, status.offset)
    return kind, status.publisher, package, status.subscriber, status.subscriber_instance, status.status.name


def _package(package_id: str, offset: int) -> str:
    """A subscriber cannot know the id of a package that it cannot decode; there may be several of them."""
    return package_id or f"at offset {offset}"
