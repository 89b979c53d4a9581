"""A subscriber for tests: its ledger, records for it, and its importer with the usual answers."""

from random import Random
from typing import Any

from callboard.actors.core.decision import Origin
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.effects import OpenRepository, SaveLedger
from callboard.actors.subscriber.importing.importer import Importer
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import (
    Admitted,
    CommandReceived,
    CommandsRead,
    PackagesRead,
    PackagesWanted,
    ReportQuery,
    StatusesPending,
    StatusesSent,
)
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    Kind,
    PackageMessage,
    State,
    SubscriberConfiguration,
)
from callboard.messages.headers import new_record
from callboard.messages.question import answer_to
from callboard.messages.record import NewRecord, Record, pack_headers
from callboard.messages.topics import Topics
from callboard.testing.drivers.decision_driver import DecisionDriver

NAME = "edge-1"
TOPICS = Topics.with_prefix()
LOG = "log-1"
COMMANDS = "commands-1"

LEDGER = Ledger(instance="me", subscriber=NAME, log_id=LOG, positioned=True, offset=9)
"""The ledger of a subscriber that has processed everything up to offset 9."""


def settings(**others: Any) -> SubscriberSettings:
    """The example's settings, overridden by ``others``; packages come one at a time by default."""
    return SubscriberSettings(name=NAME, topics=TOPICS, **({"batch_packages": 1} | others))


def as_read(new: NewRecord, offset: int, time_ns: int = 0) -> Record:
    """The record as the log returns it."""
    return new.at(offset, time_ns)


def package(offset: int, publisher: str = "site", kind: Kind = Kind.ADD, **fields: Any) -> Record:
    """A package that a decision can read, but that cannot be imported."""
    message = PackageMessage(publisher_instance="i", publisher=publisher, package_id=f"p{offset}", kind=kind, **fields)
    return as_read(new_record(message, record_id=str(offset), time_ns=1, producer="test"), offset)


def garbage(offset: int, publisher: str = "site") -> Record:
    """A package that cannot be decoded."""
    headers = (("type", "PackageMessage"), ("version", "1.0"), ("publisher", publisher))
    return Record(offset=offset, time_ns=0, payload=b"\xff\xff", header_block=pack_headers(headers))


def clear(offset: int, at: int, publisher: str = "", log_id: str = LOG, position: int = -1) -> CommandReceived:
    """The command, at offset ``at`` of the command topic, to clear packages up to ``offset``."""
    return command(at, clear=ClearCommand(offset=offset), publisher=publisher, log_id=log_id, position=position)


def command(at: int, **fields: Any) -> CommandReceived:
    """A command at offset ``at`` of the command topic."""
    usual = {"command_id": f"c{at}", "author": "ann", "reason": "because", "log_id": LOG}
    usual |= {"subscriber_instance": LEDGER.instance}
    message = CommandMessage(subscriber=NAME, **(usual | fields))
    return CommandReceived(log_id=COMMANDS, offset=at, command=message)


def announcement(instance: str = "me", **others: Any) -> DiscoveryMessage:
    """An announcement of an instance of the example."""
    configuration = SubscriberConfiguration(editable=False, max_retries=-1)
    return DiscoveryMessage(subscriber_instance=instance, subscriber=NAME, configuration=configuration, **others)


class ImporterDriver(DecisionDriver):
    """An importer of the example; see ``DecisionDriver``."""

    def __init__(self, **others: Any) -> None:
        super().__init__(Importer(settings(**others), Random(1)))  # noqa: S311  # reproducible, not secret

    def arrive(self, stored: Ledger | None = LEDGER, first: int = 1, end: int = 100) -> "ImporterDriver":
        """Open the repository, grant the name, find the bounds, store what must be, and receive no commands."""
        self.done(OpenRepository, stored)
        self.save_all()
        self.feed(Admitted())
        self.find_bounds(first, end)
        self.find_place()
        self.save_all()
        self.feed(CommandsRead())
        return self

    def find_place(self) -> None:
        """Confirm that the record at the position is the processed one, if asked."""
        if self.asks(ReadLog):
            offset = self.asked(ReadLog).start
            self.done(ReadLog, LogRead(LOG, (package(offset),), offset + 1))

    def find_bounds(self, first: int = 1, end: int = 100, log_id: str = LOG) -> None:
        """Report where the package log begins and ends."""
        self.done(FindBounds, TopicBounds(log_id, first, end))

    def order(self, *orders: CommandReceived, end: int = 100) -> None:
        """Deliver commands, and report where the package log ends if asked."""
        for order in orders:
            self.feed(order)
        while self.asks(FindBounds):
            self.find_bounds(end=end)

    def save_all(self) -> list[SaveLedger]:
        """Store the ledger as often as asked."""
        saved = []
        while self.asks(SaveLedger):
            saved.append(self.done(SaveLedger))
        return saved

    def read(self, *records: Record) -> None:
        """Answer the last request for packages."""
        wish = self.sent(PackagesWanted)[-1]
        read = PackagesRead(log_id=wish.log_id, start=wish.start, next=records[-1].offset + 1, records=records)
        self.feed(read)

    def results(self) -> dict[str, CommandResultMessage]:
        """The results of commands by id, as last passed to the status sender."""
        results = [result for pending in self.sent(StatusesPending) for result in pending.results]
        return {result.command_id: result for result in results}

    def sends_all(self) -> None:
        """Confirm that everything passed to the status sender is on the log, until there is no more."""
        handled = 0
        while (pending := self.sent(StatusesPending)) and handled < len(pending):
            handled = len(pending)
            lines = pending[-1].statuses + pending[-1].results
            self.feed(StatusesSent(sequence=max(line.sequence for line in lines)))
            self.save_all()

    def report(self) -> DiscoveryMessage:
        """Its announcement."""
        question = ReportQuery()
        self.feed(question, Origin("gateway", 99))
        return answer_to(question, self.replies()[-1][1]).announcement

    def state(self) -> tuple[State, str]:
        """Its state, and why."""
        report = self.report()
        return report.state, report.reason
