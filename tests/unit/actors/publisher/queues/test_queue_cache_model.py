"""The queue cache and both pollers over a log that grows, is trimmed and loses its readers, in any order of mail.

Once all mail is delivered, every queue equals one computed from a plain list of the log's packages.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.actors.core.decision import (
    After,
    Decision,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Perform,
    Reply,
    Send,
    Started,
    Tick,
)
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.queues.older_poller import OlderPoller, OlderPollerSettings
from callboard.actors.publisher.queues.queue_cache import QueueCache, QueueCacheSettings
from callboard.actors.publisher.queues.tail_poller import TailPoller, TailPollerSettings
from callboard.errors import OffsetOutOfRange
from callboard.messages.distribution.queue_mail import (
    PackageSummary,
    QueuePage,
    QueueQuery,
    QueueSize,
    Sizes,
    SizesQuery,
)
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.record import Record

NOW = Moment(0, 0.0)
ROLES = ("queue_cache", "older_poller", "tail_poller")
PUBLISHERS = ("a", "b", "broken", "nameless")
"""Records of the last two cannot be decoded; the header of the last does not say whose they are."""


@dataclass
class Stage:
    """Three actors, their mail in flight, and the log."""

    max_entries: int
    topic: str = ""  # of the checkpoint
    log_id: str = "L1"
    copy: int = 0  # of the log: a copy that is put back assigns other ids
    first: int = 0
    end: int = 0
    packages: list[PackageSummary] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    actors: dict[str, Decision] = field(default_factory=dict)
    mail: dict[tuple[str, str], deque[tuple[Input, Origin]]] = field(default_factory=dict)
    replies: dict[int, Any] = field(default_factory=dict)
    asked: int = 0
    reads: list[int] = field(default_factory=list)
    waited_out: bool = False  # the log was replaced while a read waited at its end

    def restart(self, role: str) -> None:
        settings: dict[str, Any] = {
            "queue_cache": (QueueCache, QueueCacheSettings(self.topic, self.max_entries, details_max=3)),
            "older_poller": (OlderPoller, OlderPollerSettings("p")),
            "tail_poller": (TailPoller, TailPollerSettings("p")),
        }
        make, its = settings[role]
        self.actors[role] = make(its, Random(1))
        for route in [route for route in self.mail if route[1] == role or route == (role, "log")]:
            del self.mail[route]
        self.post("shell", role, Started())
        for other in ROLES:
            self.post("shell", other, PeerUp(role))

    def post(self, sender: str, receiver: str, message: Any, origin: Origin = Origin("")) -> None:  # noqa: B008
        self.mail.setdefault((sender, receiver), deque()).append((message, origin))

    def append(self, gap: int, publisher: str, kind: Kind, length: int, recipients: tuple[str, ...] = ()) -> None:
        offset, time_ns = self.end + gap, self.end * 10 + self.copy
        self.end = offset + 1
        message = PackageMessage(
            publisher_instance="i", publisher=publisher, package_id=f"p{offset}.{self.copy}", kind=kind, length=length,
            recipients=recipients,
        )  # fmt: skip
        new = new_record(message, record_id=f"r{offset}", time_ns=time_ns, producer="test")
        if publisher == "nameless":
            new, publisher, recipients = replace(new, headers=()), "", ()
        broken = publisher in {"broken", ""}
        self.records.append((replace(new, payload=b"\xff") if broken else new).at(offset, time_ns))
        if broken or kind is not Kind.TEST:
            summary = PackageSummary(
                offset=offset, time_ns=time_ns, publisher=publisher, length=0 if broken else length,
                recipients=recipients,
            )  # fmt: skip
            self.packages.append(summary)

    def trim(self, count: int) -> None:
        self.first = min(self.first + count, self.end)
        self.records = [record for record in self.records if record.offset >= self.first]
        self.packages = [package for package in self.packages if package.offset >= self.first]

    def replace(self) -> None:
        self.log_id += "x"
        self.first = self.end = 0
        self.records, self.packages = [], []
        self.waited_out = True

    def ask(self, query: QueueQuery | SizesQuery) -> int:
        self.asked += 1
        self.post("gateway", "queue_cache", query, Origin("gateway", self.asked))
        return self.asked

    def ready(self) -> list[tuple[str, str]]:
        return sorted(route for route, waiting in self.mail.items() if waiting and not self._parked(waiting[0][0]))

    def deliver(self, route: tuple[str, str]) -> None:
        message, origin = self.mail[route].popleft()
        if route[1] == "log":
            self.waited_out = self.waited_out and not (isinstance(message, ReadLog) and message.wait_s > 0)
            self.post("log", route[0], self._perform(message))  # type: ignore[arg-type]
            return
        for effect in self.actors[route[1]].receive(message, origin, NOW):
            self._carry_out(route[1], effect)

    def settle(self) -> None:
        while routes := self.ready():
            self.deliver(routes[0])

    def _parked(self, message: object) -> bool:
        """A read that waits at the end of the log, with a limit, so that it notices a replaced log."""
        waits = isinstance(message, ReadLog) and message.wait_s > 0 and message.start == self.end
        return waits and not self.waited_out

    def _carry_out(self, role: str, effect: Effect) -> None:
        match effect:
            case Send(receiver, event):
                self.post(role, receiver, event, Origin(role))
            case Reply(origin, event):
                self.replies[origin.question] = event
            case After(key, _) if key != "retention":
                self.post("timer", role, Tick(key))
            case Perform():
                self.post(role, "log", effect)

    def _perform(self, effect: Perform) -> Input:
        if isinstance(effect, FindBounds):
            return Done(effect, TopicBounds(self.log_id, self.first, self.end))
        assert isinstance(effect, ReadLog)
        self.reads.append(effect.start)
        if not self.first <= effect.start <= self.end:
            return Failed(effect, OffsetOutOfRange("p", effect.start, self.first, self.end))
        found = [record for record in self.records if record.offset >= effect.start]
        taken = tuple(found[: min(effect.max_records, 3)])
        reached = taken[-1].offset + 1 if len(taken) < len(found) else self.end
        return Done(effect, LogRead(self.log_id, taken, reached))


def queue_of(stage: Stage, publisher: str, after: int, subscriber: str) -> list[PackageSummary]:
    return [
        package
        for package in stage.packages
        if package.offset > after
        and (not publisher or package.publisher in {publisher, ""})
        and (not subscriber or not package.recipients or subscriber in package.recipients)
    ]


def size_of(queue: list[PackageSummary], publisher: str, after: int, subscriber: str) -> QueueSize:
    return QueueSize(
        publisher=publisher,
        after=after,
        subscriber=subscriber,
        size=len(queue),
        length=sum(package.length for package in queue),
        oldest_ns=queue[0].time_ns if queue else 0,
        newest=queue[-1].offset if queue else -1,
    )


RECIPIENTS = ((), ("x",), ("x", "y"), ())
recipients = st.sampled_from(RECIPIENTS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.sampled_from(PUBLISHERS), st.sampled_from(Kind), recipients),
        st.tuples(st.just("deliver"), st.integers(0, 50)),
        st.tuples(st.just("deliver"), st.integers(0, 50)),
        st.tuples(
            st.just("ask"),
            st.integers(-1, 40),
            st.sampled_from(("", "a", "b")),
            st.integers(0, 5),
            st.sampled_from(("", "x", "y", "z")),
        ),
        st.tuples(st.just("trim"), st.integers(1, 6)),
        st.tuples(st.just("restart"), st.sampled_from(ROLES)),
        st.tuples(st.just("settle")),
        st.tuples(st.just("replace")),
    ),
    max_size=60,
)


def play(stage: Stage, step: tuple[Any, ...]) -> None:
    match step:
        case ("append", gap, publisher, kind, recipients):
            stage.append(gap, publisher, kind, gap + 5, recipients)
        case ("deliver", choice) if routes := stage.ready():
            stage.deliver(routes[choice % len(routes)])
        case ("ask", after, publisher, skip, subscriber):
            stage.ask(QueueQuery(after=after, publisher=publisher, subscriber=subscriber, skip=skip, limit=3))
        case ("trim", count):
            stage.trim(count)
        case ("restart", role):
            stage.restart(role)
        case ("settle",):
            stage.settle()
        case ("replace",):
            stage.replace()


@pytest.mark.proves("F34", "W24", "W37")
@given(steps=steps, history=st.integers(0, 90), max_entries=st.sampled_from([8, 32, 1000]))
@settings(max_examples=150, deadline=None)
def test_every_queue_equals_one_computed_from_a_plain_list_of_the_log(
    steps: list[tuple[Any, ...]], history: int, max_entries: int
) -> None:
    stage = Stage(max_entries)
    for number in range(history):
        stage.append(number % 2, PUBLISHERS[number % 2], Kind.ADD, number, RECIPIENTS[number % 7 % 4])
    for role in ROLES:
        stage.restart(role)
    for step in steps:
        play(stage, step)
    stage.settle()
    stage.post("timer", "queue_cache", Tick("retention"))
    stage.settle()
    for after in (-1, 3, stage.end // 3, stage.end // 2, stage.end - 2, stage.end + 5):
        for publisher, subscriber in (("", ""), ("a", ""), ("", "x"), ("a", "y"), ("b", "z")):
            compare(stage, publisher, after, subscriber)


def compare(stage: Stage, publisher: str, after: int, subscriber: str) -> None:
    queue = queue_of(stage, publisher, after, subscriber)
    expected = size_of(queue, publisher, after, subscriber)
    page_asked = stage.ask(QueueQuery(after=after, publisher=publisher, subscriber=subscriber, skip=2, limit=4))
    asked = QueueSize(publisher=publisher, after=after, subscriber=subscriber)
    sizes_asked = stage.ask(SizesQuery(queues=(asked,)))
    stage.settle()
    page, sizes = stage.replies[page_asked], stage.replies[sizes_asked]
    assert isinstance(page, QueuePage)
    assert isinstance(sizes, Sizes)
    assert page.problem == sizes.problem == ""
    assert page.queue == sizes.queues[0] == expected
    shown = [(package.offset, package.publisher, package.length) for package in page.packages]
    assert shown == [(package.offset, package.publisher, package.length) for package in queue[2:6]]
