"""Thousands of announcers on a virtual clock: what they write to the discovery topic, without any I/O.

The decisions are those that run in a subscriber; the log is a list, which answers after a millisecond.
"""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

from callboard.actors.core.decision import After, Done, Effect, Input, Moment, Origin, Reply, Send, Started, Tick
from callboard.actors.core.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.fleet.fleet import Fleet, FleetSettings
from callboard.actors.subscriber import SubscriberSettings, roles
from callboard.actors.subscriber.reporting.announcer import Announcer
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView
from callboard.messages.distribution.mailbox import Admitted, Report
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    State,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.record import Record
from callboard.messages.topics import Topics

ANSWER_S = 0.001
STARTS_S = 60.0
"""All start within this time."""
IMPORT_S = 0.5
"""An import ends up to this much later."""
SETTLE_S = 600.0
"""Two of the longest intervals."""
TOPICS = Topics.with_prefix()


@dataclass
class Announcing:
    """The fleet, its topic, and the times at which something happens next."""

    size: int
    rng: Random = field(default_factory=lambda: Random(1))
    topic: list[Record] = field(default_factory=list)
    now_s: float = 0.0
    until_s: list[float] = field(default_factory=list)
    """By subscriber, until when it has its name."""
    lapsed: int = 0
    """How often a subscriber lost its name because its lease ended."""

    def __post_init__(self) -> None:
        self._announcers = [self._announcer(number) for number in range(self.size)]
        self._reports = [self._first_report(number) for number in range(self.size)]
        self._timers = [dict[str, int]() for _ in range(self.size)]
        self._due = list[tuple[float, int, int, Input]]()
        self._order = count()
        self.until_s = [0.0] * self.size
        for number in range(self.size):
            starts_s = self.rng.uniform(0, STARTS_S)
            self._later(starts_s, number, Started())
            self._later(starts_s + ANSWER_S, number, Report(announcement=self._reports[number]))
            self._later(starts_s + 1, number, self._report(number, state=State.IDLE))

    def publish(self, offset: int) -> None:
        """A package is on the log: all import it."""
        for number in range(self.size):
            begins_s = self.rng.uniform(0, IMPORT_S)
            self._later(begins_s, number, self._report(number, state=State.IMPORTING))
            done = self._report(number, state=State.IDLE, offset=offset, imported=offset)
            self._later(begins_s + IMPORT_S / 2, number, done)

    def run(self, seconds: float) -> None:
        """Let this time pass."""
        end_s = self.now_s + seconds
        while self._due and self._due[0][0] <= end_s:
            self.now_s, order, number, message = heapq.heappop(self._due)
            if isinstance(message, Tick) and self._timers[number].get(message.key) != order:
                continue  # it was set again
            self._receive(number, message)
        self.now_s = end_s

    def _receive(self, number: int, message: Input) -> None:
        now = Moment(int(self.now_s * 1e9) + 1, self.now_s)
        for effect in self._announcers[number].receive(message, Origin(roles.IMPORTER), now):
            self._perform(number, effect)

    def _perform(self, number: int, effect: Effect) -> None:
        match effect:
            case Append(records=records):
                offset = len(self.topic) + 1
                self.topic += [new.at(offset + at, int(self.now_s * 1e9)) for at, new in enumerate(records)]
                self._answer(number, effect, tuple(range(offset, offset + len(records))))
            case FindBounds():
                self._answer(number, effect, TopicBounds("d", 1, len(self.topic) + 1))
            case ReadLog(start=start, max_records=most):
                found = tuple(self.topic[start - 1 : start - 1 + most])
                self._answer(number, effect, LogRead("d", found, start + len(found)))
            case After(key, seconds) if seconds >= 0:
                self._timers[number][key] = self._later(max(seconds, ANSWER_S), number, Tick(key))
            case After(key):
                self._timers[number].pop(key, None)
            case Send(_, Admitted(until_ms=until_ms)):
                self.lapsed += 0 < self.until_s[number] < self.now_s
                self.until_s[number] = until_ms / 1000

    def _answer(self, number: int, effect: Any, result: Any) -> None:
        self._later(ANSWER_S, number, Done(effect, result))

    def _later(self, seconds: float, number: int, message: Input) -> int:
        order = next(self._order)
        heapq.heappush(self._due, (self.now_s + seconds, order, number, message))
        return order

    def _announcer(self, number: int) -> Announcer:
        name, host, place = f"edge-{number}", f"host-{number % 100}", f"{number:032x}"
        return Announcer(SubscriberSettings(name=name, topics=TOPICS, host=host, place=place), Random(number))

    def _first_report(self, number: int) -> DiscoveryMessage:
        return DiscoveryMessage(
            subscriber_instance=f"{number:032x}", subscriber=f"edge-{number}", log_id=f"{0:032x}",
            configuration=SubscriberConfiguration(editable=False, max_retries=-1, repository=f"sqlite:///edge-{number}.db"),
        )  # fmt: skip

    def _report(self, number: int, **changes: Any) -> Report:
        said = replace(self._reports[number], since_ns=int(self.now_s * 1e9), **changes)
        states = (SubscriberState(publisher="site", offset=said.offset),)
        self._reports[number] = replace(said, states=states)
        return Report(announcement=self._reports[number], caught_up=True)


@dataclass
class Folded:
    """What the announcements cost a publisher, in processor time."""

    fold_us: float
    """One announcement."""
    first_ms: float
    """The first answer about the fleet."""
    again_ms: float
    """The next one, while nothing has changed."""

    @classmethod
    def of(cls, topic: Sequence[Record]) -> "Folded":
        """Fold these records."""
        fleet = Fleet(FleetSettings("d"), Random(1))
        now, first, end = Moment(topic[-1].time_ns, 0.0), topic[0].offset, topic[-1].offset + 1

        def feed(message: Input) -> list[Effect]:
            return list(fleet.receive(message, Origin(""), now))

        feed(Started())
        (read,) = (
            each for each in feed(Done(FindBounds("d"), TopicBounds("d", first, first))) if isinstance(each, ReadLog)
        )
        spent_s = time.process_time()
        for at in range(0, len(topic), 500):
            part = tuple(topic[at : at + 500])
            effects = feed(Done(read, LogRead("d", part, part[-1].offset + 1)))
            (read,) = (each for each in effects if isinstance(each, ReadLog))
        folded_s = time.process_time() - spent_s
        answers = list[float]()
        for _ in range(4):
            spent_s = time.process_time()
            feed(FleetQuery())
            effects = feed(Done(FindBounds("d"), TopicBounds("d", first, end)))
            answers.append((time.process_time() - spent_s) * 1000)
            (view,) = (each.event for each in effects if isinstance(each, Reply))
        assert isinstance(view, FleetView)
        return cls(folded_s / len(topic) * 1e6, answers[0], min(answers))


@dataclass
class Announced:
    """What a fleet wrote in a while."""

    records_s: float
    bytes_s: float
    most_s: int
    """Records in the worst second."""
    cpu_ms: float
    """Processor time of a subscriber in a second of virtual time, without I/O."""

    @classmethod
    def of(cls, fleet: Announcing, seconds: float, package_every_s: float = 0.0) -> "Announced":
        """Let time pass, with or without packages."""
        began, spent_s, ends = len(fleet.topic), time.process_time(), []
        for second in range(int(seconds)):
            if package_every_s:
                fleet.publish(second + 1)
            fleet.run(1.0)
            ends.append(len(fleet.topic))
        spent_s = time.process_time() - spent_s
        found = fleet.topic[began:]
        size = sum(len(record.payload) + len(record.header_block) for record in found)
        most = max(end - start for start, end in zip([began, *ends], ends, strict=False))
        return cls(len(found) / seconds, size / seconds, most, spent_s * 1000 / seconds / fleet.size)
