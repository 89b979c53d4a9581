"""The oracle of shortening: records that a reader still depends on stay on the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from callboard.actors.publisher.errors.error_queue import FAILURES
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    PackageStatusMessage,
    Status,
)
from callboard.messages.headers import SEPARATOR, open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of
from callboard.testing.simulation.distribution.oracles.tenants import Tenants

DONE = (Status.IMPORTED, Status.SUPERSEDED, Status.HOOK_SETTLED)
"""No status about a package has this."""


@dataclass(slots=True)
class ShorteningOracle:
    """Remembers every announcement and status, and checks after every trim that those in force are left.

    Args:
        demand: reports a violation: whether the rule holds, its name, and what happened.
        first: the oldest offset of the package topic.
        there: whether the log has a package at this offset, or had one that was trimmed.
        tenants: the subscribers, and the commands they received.
        exchanged: whether the log was exchanged.
    """

    demand: Callable[[bool, str, str], None]
    first: Callable[[], int]
    there: Callable[[int], bool]
    tenants: Tenants
    exchanged: Callable[[], bool]
    _records: dict[str, dict[int, Record]] = field(default_factory=dict)
    """By topic and offset, the records of the current log, including trimmed ones."""

    gone: set[tuple[str, int]] = field(default_factory=set)
    """The trimmed statuses, by instance and sequence: their events are only written if that was in time."""

    _unstaged: set[tuple[str, int]] = field(default_factory=set)
    """Those that were trimmed before their subscriber was known to be golden."""

    _early: set[tuple[str, int]] = field(default_factory=set)
    """Statuses of an offset at which the log had no package yet: they are about a package of a former log, and do not
    count."""

    def forget(self) -> None:
        """The log was exchanged."""
        self._records.clear()
        self.gone.clear()
        self._unstaged.clear()
        self._early.clear()

    def appended(self, topic: str, record: Record) -> None:
        """A record was appended."""
        self._records.setdefault(topic, {})[record.offset] = record
        is_status = record.header("type") == PackageStatusMessage.__name__
        if is_status and not self.there(open_record(record, PackageStatusMessage).offset):
            self._early.add(_identity(record))

    def repeated(self, topic: str, record: Record) -> None:
        """A record was repeated, unchanged. It has the time of the record that was read, the original or a repetition,
        unless its own is earlier.
        """
        original, known = original_of(record), self._records.get(topic, {})
        first = known.get(original.offset) if original else None
        right = False
        if original is not None and first is not None:
            before = (its for one in known.values() if (its := original_of(one)) and its.offset == original.offset)
            times_ns = {min(time_ns, record.time_ns) for time_ns in (first.time_ns, *(its.time_ns for its in before))}
            right = first.payload == record.payload and original.time_ns in times_ns
        self.demand(right or self.exchanged(), "a repeated record is unchanged", f"{topic} at {record.offset}")
        self.appended(topic, record)

    def trimmed(self, topic: str, left: Sequence[Record]) -> None:
        """These records are left."""
        if topic.endswith(".status"):
            first = min((record.offset for record in left), default=0)
            golden = self._golden()
            trimmed = {_identity(record): record for record in self._originals(topic) if record.offset < first}
            new = {identity: record for identity, record in trimmed.items() if identity not in self.gone}
            self._unstaged |= {identity for identity, record in new.items() if _line(record).subscriber not in golden}
            self.gone |= trimmed.keys()
        payloads = {record.payload for record in left}
        offsets = {record.offset for record in left}
        topics = {"discovery": self._announcements, "status": self._outcomes, "command": self._commands}
        for story, records in topics.get(topic.rpartition(".")[2], lambda: iter(()))():
            kept = any(record.payload in payloads if topic != "sim.command" else record.offset in offsets
                       for record in records)  # fmt: skip
            self.demand(kept, "a trim keeps what is still in force", f"{topic} has lost {story}")

    def _announcements(self) -> Iterator[tuple[str, list[Record]]]:
        """The last announcement of every subscriber: of one of its instances, if several claim the name."""
        last: dict[str, dict[str, Record]] = {}
        for record in self._originals("sim.discovery"):
            if record.header("type") == DiscoveryMessage.__name__:
                announcement = open_record(record, DiscoveryMessage)
                last.setdefault(announcement.subscriber, {})[announcement.subscriber_instance] = record
        for name, records in last.items():
            yield f"the last announcement of {name}", list(records.values())

    def _outcomes(self) -> Iterator[tuple[str, list[Record]]]:
        """The last status of every package on the log that was not imported; a golden subscriber's in any case.
        Packages of a former log have none.
        """
        golden = self._golden()
        for (name, offset), (status, may_be, records) in self._last_statuses().items():
            landed = status in DONE or may_be in DONE
            needed = offset >= self.first() and not _identities(records) <= self._early
            staged = name in golden and not _identities(records) <= self._unstaged
            if needed and (not landed or staged):
                yield f"what {name} reported of offset {offset}: {status.name}", list(records.values())

    def _golden(self) -> set[str]:
        """Those named as golden by a subscriber that has announced itself; no one who trims can know of others."""
        return {its.golden for name, its in self.tenants.settings.items() if name in self.tenants.furthest}

    def may_be_landed(self) -> set[tuple[str, int]]:
        """Packages, by subscriber and offset, that a new reader may not know to have failed: after another host's
        failure, a host has repeated a status whose original was trimmed, and which is no failure; or the failure is of
        a package of a former log, and was trimmed.
        """
        unread = self._early & self.gone
        hidden = {at for at, (_, may_be, _) in self._last_statuses().items() if may_be not in (None, *FAILURES)}
        lost = {at for at, (_, _, records) in self._last_statuses().items() if _identities(records) <= unread}
        return hidden | lost

    def _last_statuses(self) -> dict[tuple[str, int], tuple[Status, Status | None, dict[str, Record]]]:
        """By subscriber and package: the last status, the one that a new reader may take for it, and the records of
        every instance of that name.
        """
        last: dict[tuple[str, int], tuple[Status, Status | None, dict[str, Record]]] = {}
        known = set[tuple[str, int]]()
        for record in self._originals("sim.status"):
            if record.header("type") == PackageStatusMessage.__name__:
                status = open_record(record, PackageStatusMessage)
                identity, package = _identity(record), (status.subscriber, status.offset)
                before, _, records = last.get(package, (status.status, None, {}))
                if identity not in known:
                    known.add(identity)
                    last[package] = status.status, None, records | {status.subscriber_instance: record}
                elif identity in self.gone:
                    last[package] = before, status.status, records
        return last

    def _commands(self) -> Iterator[tuple[str, list[Record]]]:
        """Every command that no announcement says was handled."""
        handled: dict[str, int] = {}
        for record in self._originals("sim.discovery"):
            if record.header("type") == DiscoveryMessage.__name__:
                announcement = open_record(record, DiscoveryMessage)
                name, offset = announcement.subscriber, announcement.command_offset
                handled[name] = max(handled.get(name, -1), offset)
        for record in self._records.get("sim.command", {}).values():
            command = open_record(record, CommandMessage)
            if record.offset > handled.get(command.subscriber.partition(SEPARATOR)[0], -1):
                yield f"command {command.command_id} to {command.subscriber}", [record]

    def _originals(self, topic: str) -> list[Record]:
        return [record for record in self._records.get(topic, {}).values() if original_of(record) is None]


def _identities(records: Mapping[str, Record]) -> set[tuple[str, int]]:
    return {_identity(record) for record in records.values()}


def _identity(record: Record) -> tuple[str, int]:
    line = _line(record)
    return line.subscriber_instance, line.sequence


def _line(record: Record) -> PackageStatusMessage | CommandResultMessage:
    line = open_record(record, (PackageStatusMessage, CommandResultMessage))
    assert isinstance(line, PackageStatusMessage | CommandResultMessage)
    return line
