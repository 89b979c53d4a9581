"""A log in memory, subscribers that say where they are, and a notifier between them."""

from collections import defaultdict
from collections.abc import Iterator
from random import Random

import pytest

from callboard.actors.core.decision import Done, Failed, Origin, Perform
from callboard.actors.core.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.events.notifier import Notifier, NotifierSettings
from callboard.errors import CallboardError, LogUnavailable, OffsetOutOfRange
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView, Liveness, Member
from callboard.messages.distribution.package_event import EventMarks, PackageEvent, open_event
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.topics import Topics
from callboard.testing.drivers.decision_driver import BEGINNING, DecisionDriver

TOPICS = Topics.with_prefix("t")
ALL = ("created", "queued", "distributed", "imported", "failed")


class Killed(Exception):
    """The notifier died here."""


class NotifierStage:
    """Everything but the notifier survives ``kill``. Effects are carried out when ``run`` gets to them."""

    def __init__(self, kinds: tuple[str, ...] = ALL, *, keys: bool = True) -> None:
        self.kinds = kinds
        self.keys = keys
        self.topics: dict[str, list[Record]] = defaultdict(list)
        self.keyed: dict[str, dict[str, int]] = defaultdict(dict)
        self.first: dict[str, int] = defaultdict(int)
        self.log_ids: dict[str, str] = defaultdict(lambda: "L1")
        self.members: dict[str, Member] = {}
        self.unread = 0
        self.unavailable: set[type[Perform]] = set()
        self.appends = 0
        self.steps = 0
        self.kill_at = -1
        self.now = BEGINNING
        self.answered = 0
        self.it = self.begin()

    # The log.

    def put(self, topic: str, new: NewRecord) -> int:
        records, keys = self.topics[topic], self.keyed[topic]
        if self.keys and new.key in keys:
            return keys[new.key]
        if new.key:
            keys[new.key] = len(records)
        records.append(new.at(len(records), self.now.wall_ns))
        return len(records) - 1

    def publish(self, name: str, publisher: str = "site", paths: tuple[str, ...] = ("/a",)) -> int:
        package = PackageMessage(
            publisher_instance="i", publisher=publisher, package_id=name, kind=Kind.ADD, paths=paths, user="ann",
            length=7,
        )  # fmt: skip
        return self.put(TOPICS.package, new_record(package, record_id=name, time_ns=5, producer="p"))

    def tell(self, offset: int, package: str, subscriber: str, sequence: int, status: Status = Status.IMPORTED) -> int:
        message = PackageStatusMessage(
            subscriber_instance="s", subscriber=subscriber, publisher="site", offset=offset, status=status,
            package_id=package, sequence=sequence, reason="disk full" if status is not Status.IMPORTED else "",
        )  # fmt: skip
        record_id = f"{subscriber}-{sequence}"
        return self.put(TOPICS.status, new_record(message, record_id=record_id, time_ns=6, producer="s"))

    def announce(
        self,
        name: str,
        offset: int,
        liveness: Liveness = Liveness.LIVE,
        follows: tuple[str, ...] = (),
        log_id: str = "L1",
    ) -> None:
        configuration = SubscriberConfiguration(editable=True, max_retries=-1, follows=follows)
        announcement = DiscoveryMessage(
            subscriber_instance="s", subscriber=name, configuration=configuration, offset=offset, log_id=log_id
        )
        self.members[name] = Member(announcement=announcement, liveness=liveness, seen_ns=0)

    def replace(self, topic: str) -> None:
        self.topics[topic].clear()
        self.keyed[topic].clear()
        self.log_ids[topic] += "'"

    # The notifier.

    def begin(self) -> DecisionDriver:
        settings = NotifierSettings(TOPICS, "site", "site/i", self.kinds)
        return DecisionDriver(Notifier(settings, Random(1)), now=self.now)

    def kill(self) -> None:
        """Kill the notifier; its successor has no state."""
        self.now = self.it.now
        self.answered = 0
        self.it = self.begin()

    def run(self) -> None:
        """Carry out the notifier's requests until only timers are left; let those expire, too, for three rounds."""
        for _ in range(3):
            while self._carry_out():
                pass
            for timer in sorted(set(self.it.timers) - {"renew"}):
                self.it.tick(timer)
                while self._carry_out():
                    pass

    def run_killed(self) -> None:
        """The same, with a kill at the chosen step."""
        try:
            self.run()
        except Killed:
            self.kill()
            self.run()

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed

    def _carry_out(self) -> bool:
        asked = len(self.it.sent(FleetQuery))
        if asked > self.answered:
            self.answered = asked
            self._step()
            view = FleetView(members=tuple(self.members.values()), unread=self.unread)
            self.it.feed(view, Origin("fleet"))
            return True
        for effect in self.it.open:
            result = self._result(effect)
            if result is None:
                continue
            self._step()
            self.it.open.remove(effect)
            self.it.feed(Failed(effect, result) if isinstance(result, CallboardError) else Done(effect, result))
            return True
        return False

    def _result(self, effect: Perform) -> object:
        if type(effect) in self.unavailable:
            return LogUnavailable("down")
        match effect:
            case FindBounds(topic=topic):
                return TopicBounds(self.log_ids[topic], self.first[topic], len(self.topics[topic]))
            case ReadLog(topic=topic, start=start):
                if not self.first[topic] <= start <= len(self.topics[topic]):
                    return OffsetOutOfRange(topic, start, self.first[topic], len(self.topics[topic]))
                found = tuple(self.topics[topic][start : start + effect.max_records])
                if not found and effect.wait_s > 0:
                    return None
                return LogRead(self.log_ids[topic], found, start + len(found))
            case Append(topic=topic, records=records):
                self._step()
                self.appends += 1
                return tuple(self.put(topic, record) for record in records)
        raise AssertionError(effect)

    # What it wrote.

    def events(self) -> Iterator[PackageEvent]:
        for record in self.topics[TOPICS.event]:
            event = open_event(record)
            if isinstance(event, PackageEvent):
                yield event

    def told(self, kind: str) -> list[int]:
        """The offsets of the packages in its events, in the order of the topic."""
        return [event.offset for event in self.events() if event.kind == kind]

    def marks(self) -> Event:
        return [event for event in map(open_event, self.topics[TOPICS.event]) if isinstance(event, EventMarks)][-1]


@pytest.fixture
def notifier_stage() -> type[NotifierStage]:
    return NotifierStage
