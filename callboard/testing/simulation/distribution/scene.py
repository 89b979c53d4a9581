"""What the oracles share: every record of the log so far, and the first violation."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from callboard.errors import Undecodable
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    PackageStatusMessage,
)
from callboard.messages.headers import SEPARATOR, RecordHeaders, open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of
from callboard.messages.topics import Topics
from callboard.testing.simulation.distribution.acts import Publish
from callboard.testing.simulation.distribution.oracles.shortening_oracle import ShorteningOracle
from callboard.testing.simulation.distribution.oracles.tenants import Tenants
from callboard.testing.simulation.distribution.truth import Sent
from callboard.testing.simulation.engine.outcome import Violation

SETTLE_S = 2.0
"""Seconds: the log is away for one, after two claims have expired in fleets whose hosts share a name."""

Line = PackageStatusMessage | CommandResultMessage
"""What a subscriber writes."""

TOPICS = Topics.with_prefix("sim")


@dataclass(frozen=True, slots=True)
class History:
    """The package topic of one log.

    ``cut`` is where it diverges from the log before it; 0 if they have nothing in common.
    """

    log_id: str
    packages: dict[int, Sent]
    cut: int


class EventWitness(Protocol):
    """Receives the records of the event topic."""

    def appended(self, record: Record) -> None:
        """An event is on the log."""

    def forget(self) -> None:
        """The log was exchanged."""


@dataclass(slots=True)
class Scene:
    """Receives every record; oracles report violations here, and the first one counts."""

    first: Callable[[], int]
    """The oldest offset of the package topic."""
    tenants: Tenants
    violation: Violation | None = None
    found: asyncio.Event = field(default_factory=asyncio.Event)
    acts: dict[str, Publish] = field(default_factory=dict)
    """By package id."""
    packages: dict[int, Sent] = field(default_factory=dict)
    """The packages of the current log, by offset."""
    histories: list[History] = field(default_factory=list)
    """Of the package topic, the newest at the end."""
    commands: dict[str, list[tuple[int, CommandMessage]]] = field(default_factory=lambda: defaultdict(list))
    """By subscriber, in the order of the log."""
    unanswered: dict[tuple[str, str], CommandMessage] = field(default_factory=dict)
    """By subscriber and id, the commands on the current log without a result. Those on a former log may have been
    answered there."""
    accepted: dict[tuple[str, str], int] = field(default_factory=dict)
    """By instance and id, the offset at which a command was accepted."""
    statuses: dict[str, dict[tuple[str, int], PackageStatusMessage]] = field(default_factory=lambda: defaultdict(dict))
    """By subscriber, then by its instance and sequence, in the order of the log."""
    ever: dict[tuple[str, str, int], PackageStatusMessage] = field(default_factory=dict)
    """By subscriber, instance and sequence, including former logs."""
    reporters: dict[str, list[Callable[[Line], bool]]] = field(default_factory=lambda: defaultdict(list))
    """The judges of what a subscriber has written: each returns whether it is responsible."""
    events: EventWitness = field(init=False)
    shortening: ShorteningOracle = field(init=False)
    _settled_ns: int = 0
    count: Counter[str] = field(default_factory=Counter)
    """How often each thing happened, for the table."""

    def __post_init__(self) -> None:
        self.shortening = ShorteningOracle(
            self.demand, self.first, lambda offset: offset in self.packages, self.tenants, lambda: self.exchanged
        )
        self.tenants.hasty = lambda story: self.demand(self.unsettled, "a name is leased for the announced time", story)

    def wrong(self, rule: str, story: str) -> None:
        """Report a violation."""
        if self.violation is None:
            self.violation = Violation(rule, story)
            self.found.set()

    def demand(self, right: bool, rule: str, story: str) -> None:
        """Report a violation unless ``right``."""
        if not right:
            self.wrong(rule, story)

    def end(self) -> int:
        """The end of the package topic."""
        return max(self.packages, default=-1) + 1

    @property
    def exchanged(self) -> bool:
        """Whether the log was exchanged."""
        return len(self.histories) > 1

    @property
    def unsettled(self) -> bool:
        """Whether the log was exchanged so recently that not all know it, or that claims on the former are void."""
        return self.tenants.now_ns() < self._settled_ns

    def exchange(self, log_id: str, kept: Mapping[str, Sequence[Record]]) -> None:
        """The log was exchanged; the new one has these records, by topic."""
        offsets = {record.offset for record in kept.get(TOPICS.package, ())}
        same = log_id == self.histories[-1].log_id
        trimmed = {offset for offset in self.packages if same and offset < self.first()}
        lost = self.packages.keys() - offsets - trimmed
        cut = min(lost, default=max(offsets, default=self.first()) + 1) if same else 0
        self.packages = {offset: self.packages[offset] for offset in sorted(offsets | trimmed)}
        self.histories.append(History(log_id, self.packages, cut))
        self._settled_ns = self.tenants.now_ns() + round((SETTLE_S + 2 * self.tenants.longest_s) * 1e9)
        self.statuses.clear()
        self.unanswered.clear()
        self.tenants.forget()
        self.tenants.first = min((record.offset for record in kept.get(TOPICS.discovery, ())), default=0)
        self.events.forget()
        self.shortening.forget()
        for record in sorted(kept.get(TOPICS.status, ()), key=_first_at):
            self.shortening.appended(TOPICS.status, record)
            line = open_record(record, (PackageStatusMessage, CommandResultMessage))
            if isinstance(line, PackageStatusMessage):
                self._remember(line)
        for record in kept.get(TOPICS.discovery, ()):
            self._announced(record)
        for record in kept.get(TOPICS.event, ()):
            self.events.appended(record)

    def appended(self, topic: str, record: Record) -> None:
        """A record is on the log."""
        if topic == TOPICS.package:
            act = self.acts[RecordHeaders.parse(record.headers).id]
            # A restarted publisher only knows the requests that the log still has: repeating one whose package was
            # trimmed makes a new request. What a relay appends is counted where it comes from.
            again = not record.header("relay") and any(
                sent.act is act for sent in self.packages.values() if sent.offset >= self.first()
            )
            self.demand(not again, "a request is shipped once", f"{act}, again at offset {record.offset}")
            self.packages[record.offset] = Sent(record.offset, act, RecordHeaders.parse(record.headers).id)
        elif topic == TOPICS.command:
            command = open_record(record, CommandMessage)
            self.commands[command.subscriber].append((record.offset, command))
            self.unanswered[command.subscriber, command.command_id] = command
            self.shortening.appended(topic, record)
        elif topic in (TOPICS.status, TOPICS.discovery) and original_of(record) is not None:
            self.shortening.repeated(topic, record)
        elif topic == TOPICS.status:
            self._reported(record)
        elif topic == TOPICS.discovery:
            self._announced(record)
        elif topic == TOPICS.event:
            self.events.appended(record)

    def trimmed(self, topic: str, left: Sequence[Record]) -> None:
        """The topic was trimmed, and has these records now."""
        self.shortening.trimmed(topic, left)
        if topic == TOPICS.discovery and left:
            self.tenants.first = left[0].offset

    def _reported(self, record: Record) -> None:
        try:
            line = open_record(record, (PackageStatusMessage, CommandResultMessage))
        except Undecodable as error:
            self.wrong("a status can be read", str(error))
            return
        self.shortening.appended(TOPICS.status, record)
        assert isinstance(line, PackageStatusMessage | CommandResultMessage)
        known = [wrote(line) for wrote in self.reporters[line.subscriber]]
        self.demand(any(known), "only an existing repository reports", f"{line}")
        if isinstance(line, PackageStatusMessage):
            self._remember(line)
        else:
            self._answered(line)

    def _answered(self, result: CommandResultMessage) -> None:
        given = [
            command
            for name, commands in self.commands.items()
            if name == result.subscriber or name.startswith(f"{result.subscriber}{SEPARATOR}")  # of a relay
            for _, command in commands
            if command.command_id == result.command_id
        ]
        if not given:
            self.wrong("a result answers a command", f"{result}")
            return
        self.unanswered.pop((given[0].subscriber, given[0].command_id), None)
        by_relay = SEPARATOR in result.subscriber  # it carries what another one says
        may = by_relay or any(_may_accept(result, command) for command in given)  # a relay may forward it once more
        self.demand(may or not result.accepted, "a command is for the repository that it names", f"{given}, {result}")
        if result.accepted and not self.exchanged:
            at = self.accepted.setdefault((result.subscriber_instance, result.command_id), result.command_offset)
            self.demand(at == result.command_offset, "a command takes effect once", f"{result}, and at offset {at}")

    def _remember(self, status: PackageStatusMessage) -> None:
        self.ever.setdefault((status.subscriber, status.subscriber_instance, status.sequence), status)
        self.statuses[status.subscriber].setdefault((status.subscriber_instance, status.sequence), status)

    def _announced(self, record: Record) -> None:
        self.shortening.appended(TOPICS.discovery, record)
        if original_of(record) is None and record.header("type") == DiscoveryMessage.__name__:
            self.tenants.heard(open_record(record, DiscoveryMessage), record.offset)


def _may_accept(result: CommandResultMessage, command: CommandMessage) -> bool:
    to = command.subscriber_instance
    return to == result.subscriber_instance or (not to and not command.clear and not command.skip)


def _first_at(record: Record) -> int:
    """Its original offset: a repetition is older than the records before it."""
    original = original_of(record)
    return original.offset if original else record.offset
