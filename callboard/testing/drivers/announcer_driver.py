"""An announcer for tests, with the discovery topic that it writes and reads."""

from dataclasses import replace
from random import Random
from typing import Any

from callboard.actors.core.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber.reporting.announcer import Announcer
from callboard.messages.distribution.mailbox import Admitted, Report
from callboard.messages.distribution.topic_messages import DiscoveryMessage
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import NewRecord, Record
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import announcement, as_read, settings


class AnnouncerDriver(DecisionDriver):
    """An announcer of the example; see ``DecisionDriver``."""

    def __init__(self, **others: Any) -> None:
        given = {"host": "here", "pid": 7, "version": "1"} | others
        super().__init__(Announcer(settings(**given), Random(1)))  # noqa: S311  # reproducible, not secret
        self.topic: list[Record] = []
        self.first = 1  # records below it were trimmed

    def hear(self, **others: Any) -> None:
        """The importer reports."""
        self.feed(Report(announcement=announcement(**others)))

    def others_say(self, instance: str, **others: Any) -> None:
        """Another instance announces itself; by default for half a minute."""
        said = announcement(instance, **({"lease_ms": 30_000} | others))
        self.put(new_record(said, record_id="x", time_ns=1, producer=instance))

    def append(self) -> DiscoveryMessage:
        """Carry out the append, and the look at it unless it is the first."""
        (new,) = self.asked(Append).records
        self.put(new)
        said = self.topic[-1]
        self.done(Append, (said.offset,))
        if self.asks(ReadLog) and not self.asked(ReadLog).wait_s:
            self.look()
        return open_record(said, DiscoveryMessage)

    def look(self) -> None:
        """Carry out the search for a rival, and read to the end of the topic."""
        if self.asks(FindBounds):
            self.done(FindBounds, TopicBounds("d", self.first, len(self.topic) + 1))
        while self.asks(ReadLog) and (read := self.asked(ReadLog)).start <= len(self.topic):
            found = tuple(self.topic[read.start - 1 : read.start - 1 + read.max_records])
            self.done(ReadLog, LogRead("d", found, found[-1].offset + 1))

    def trim(self, first: int) -> None:
        """Remove the records below this offset."""
        self.first = first
        self.topic[: first - 1] = [replace(record, payload=b"removed") for record in self.topic[: first - 1]]

    def look_in_vain(self) -> None:
        """Nothing is announced for as long as one look waits."""
        read = self.asked(ReadLog)
        self.pass_time(read.wait_s)
        self.done(ReadLog, LogRead("d", (), read.start))

    def claim(self, **others: Any) -> "AnnouncerDriver":
        """Claim the name, and look who held it."""
        self.hear(**others)
        self.append()
        self.look()
        return self

    def admitted(self) -> "AnnouncerDriver":
        """Claim the name, and get it."""
        self.claim()
        assert self.sent(Admitted)
        return self

    def put(self, new: NewRecord) -> None:
        """Another process appends this to the topic."""
        self.topic.append(as_read(new, len(self.topic) + 1, self.now.wall_ns))
