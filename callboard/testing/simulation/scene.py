"""What the oracles know of a simulation: every record of the log so far, and the first thing that was wrong."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from callboard.errors import Undecodable
from callboard.messages.distribution import CommandMessage, CommandResultMessage, DiscoveryMessage, PackageStatusMessage
from callboard.messages.headers import RecordHeaders, open_record
from callboard.messages.record import Record
from callboard.messages.topics import Topics
from callboard.testing.simulation.acts import Publish
from callboard.testing.simulation.event_oracle import EventOracle
from callboard.testing.simulation.tenants import Tenants
from callboard.testing.simulation.truth import Sent

Line = PackageStatusMessage | CommandResultMessage
"""What a subscriber tells."""

TOPICS = Topics.with_prefix("sim")


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never be: which rule was broken, and how."""

    rule: str
    story: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.story}"


@dataclass(slots=True)
class Scene:
    """Is told of every record; whoever finds something wrong says so here, and the first one counts."""

    first: Callable[[], int]
    """The oldest offset of the package topic."""
    tenants: Tenants
    violation: Violation | None = None
    found: asyncio.Event = field(default_factory=asyncio.Event)
    acts: dict[str, Publish] = field(default_factory=dict)
    """By package id."""
    packages: dict[int, Sent] = field(default_factory=dict)
    commands: dict[str, list[tuple[int, CommandMessage]]] = field(default_factory=lambda: defaultdict(list))
    """By subscriber, in the order of the log."""
    statuses: dict[str, dict[tuple[str, int], PackageStatusMessage]] = field(default_factory=lambda: defaultdict(dict))
    """By subscriber, then by its instance and sequence, in the order of the log."""
    tellers: dict[str, list[Callable[[Line], bool]]] = field(default_factory=lambda: defaultdict(list))
    """Who judges what a subscriber has told: each says whether that is its business."""
    events: EventOracle = field(init=False)
    count: Counter[str] = field(default_factory=Counter)
    """What happened how often, for the table."""

    def wrong(self, rule: str, story: str) -> None:
        """This must never be."""
        if self.violation is None:
            self.violation = Violation(rule, story)
            self.found.set()

    def demand(self, right: bool, rule: str, story: str) -> None:
        """This must always be."""
        if not right:
            self.wrong(rule, story)

    def appended(self, topic: str, record: Record) -> None:
        """A record is on the log."""
        if topic == TOPICS.package:
            act = self.acts[RecordHeaders.parse(record.headers).id]
            again = any(sent.act is act for sent in self.packages.values())
            self.demand(not again, "a request is shipped once", f"{act}, again at offset {record.offset}")
            self.packages[record.offset] = Sent(record.offset, act, RecordHeaders.parse(record.headers).id)
        elif topic == TOPICS.command:
            command = open_record(record, CommandMessage)
            self.commands[command.subscriber].append((record.offset, command))
        elif topic == TOPICS.status:
            self._told(record)
        elif topic == TOPICS.discovery and record.header("type") == DiscoveryMessage.__name__:
            self.tenants.heard(open_record(record, DiscoveryMessage))
        elif topic == TOPICS.event:
            self.events.appended(record)

    def _told(self, record: Record) -> None:
        try:
            told = open_record(record, (PackageStatusMessage, CommandResultMessage))
        except Undecodable as error:
            self.wrong("a status can be read", str(error))
            return
        assert isinstance(told, PackageStatusMessage | CommandResultMessage)
        known = [teller(told) for teller in self.tellers[told.subscriber]]
        self.demand(any(known), "only who is there tells", f"{told}")
        if isinstance(told, PackageStatusMessage):
            self.statuses[told.subscriber].setdefault((told.subscriber_instance, told.sequence), told)
