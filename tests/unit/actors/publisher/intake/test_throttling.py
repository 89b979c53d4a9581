"""Requests are delayed by the backlog of the subscribers that count, and nothing else is blocked."""

from random import Random
from typing import ClassVar

import pytest

from callboard.actors.core.decision import Done, Effect, Input, Origin, Stopping
from callboard.actors.core.effects import Append
from callboard.actors.publisher.effects import BuildPackage
from callboard.actors.publisher.intake.distributor import Distributor, DistributorSettings
from callboard.actors.publisher.intake.throttle import ANSWER_S, ThrottleSettings
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView, Liveness, Member
from callboard.messages.distribution.mailbox import DistributeRequest, DistributeResponse
from callboard.messages.distribution.queue_mail import Sizes, SizesQuery
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    SubscriberConfiguration,
    ThrottledMessage,
)
from callboard.messages.event import replaced
from callboard.messages.headers import open_record
from callboard.testing.drivers.decision_driver import DecisionDriver


def subscriber(
    name: str = "edge", offset: int = 4, *, editable: bool = True, follows: tuple[str, ...] = (),
    liveness: Liveness = Liveness.LIVE,
) -> Member:  # fmt: skip
    configuration = SubscriberConfiguration(editable=editable, max_retries=-1, follows=follows)
    said = DiscoveryMessage(subscriber_instance="i", subscriber=name, configuration=configuration, offset=offset)
    return Member(announcement=said, liveness=liveness, seen_ns=0)


class Publishing(DecisionDriver):
    """Carries out requests on the discovery topic at once."""

    told: ClassVar[list[ThrottledMessage]] = []

    def feed(self, message: Input, origin: Origin = Origin("")) -> list[Effect]:  # noqa: B008 - frozen
        effects = super().feed(message, origin)
        for effect in [each for each in self.open if isinstance(each, Append) and each.topic == "discovery"]:
            self.open.remove(effect)
            super().feed(Done(effect, (0,)))
            self.told = [*self.told, *(open_record(record.at(0, 0), ThrottledMessage) for record in effect.records)]
        return effects


class Stage:
    """A distributor, and a fleet with backlogs around it."""

    def __init__(self, *members: Member, backlog: int = 0, **throttle: object) -> None:
        settings = ThrottleSettings(**({"by": "editable"} | throttle))  # type: ignore[arg-type]
        it = Distributor(DistributorSettings("p", "site", "i", "site/i", throttle=settings), Random(1))
        self.it = Publishing(it)
        self.members, self.backlog = members, backlog
        self.offset = 0

    def ask(self, name: str, kind: Kind = Kind.DELETE, recipients: tuple[str, ...] = (), answer: bool = True) -> None:
        paths = () if kind is Kind.TEST else ("/a",)
        request = DistributeRequest(request_id=name, kind=kind, paths=paths, recipients=recipients)
        before = len(self.it.sent(FleetQuery))
        self.it.feed(request, Origin("gateway", len(name)))
        if answer and len(self.it.sent(FleetQuery)) > before:
            self.answer()

    def answer(self) -> None:
        before = len(self.it.sent(SizesQuery))
        self.it.feed(FleetView(members=self.members), Origin("fleet"))
        if len(self.it.sent(SizesQuery)) > before:
            asked = self.it.sent(SizesQuery)[-1].queues
            found = tuple(replaced(queue, size=self.backlog) for queue in asked)
            self.it.feed(Sizes(queues=found), Origin("queue_cache"))

    def append(self) -> list[str]:
        """Carry out the requested append; the ids of its requests."""
        effect = self.it.asked(Append)
        ids = [dict(record.headers)["cause"] for record in effect.records]
        offsets = tuple(range(self.offset, self.offset + len(ids)))
        self.offset += len(ids)
        self.it.done(Append, offsets)
        return ids

    def answers(self) -> list[DistributeResponse]:
        return [event for _, event in self.it.replies() if isinstance(event, DistributeResponse)]


@pytest.mark.proves("F17")
@pytest.mark.parametrize(
    ("backlog", "delay_s"), [(0, 0), (1000, 0), (1001, 0.02), (1500, 10), (2000, 20), (2_000_000_000, 20)]
)
def test_the_delay_grows_with_the_backlog_between_the_limit_and_twice_the_limit(backlog: int, delay_s: float) -> None:
    stage = Stage(subscriber(), backlog=backlog)
    stage.ask("r")
    if delay_s:
        assert stage.it.timers["admit"] - stage.it.now.mono_s == pytest.approx(delay_s)
        assert not stage.it.asks(Append)
        stage.it.tick("admit")
    stage.append()
    (answer,) = stage.answers()
    assert answer.accepted
    assert answer.throttled_ms == pytest.approx(delay_s * 1000, abs=1)
    assert answer.throttled_by == ("edge" if delay_s else "")


@pytest.mark.proves("F18")
@pytest.mark.parametrize(
    ("by", "named", "member", "counts"),
    [
        ("editable", (), subscriber(), True),
        ("editable", (), subscriber(editable=False), False),
        ("all", (), subscriber(editable=False), True),
        ("none", ("edge",), subscriber(editable=False), True),
        ("none", ("other",), subscriber(), False),
        ("all", (), subscriber(follows=("shop",)), False),
        ("all", (), subscriber(follows=("shop", "site")), True),
    ],
)
def test_only_the_chosen_subscribers_slow_the_publisher_down(
    by: str, named: tuple[str, ...], member: Member, counts: bool
) -> None:
    stage = Stage(member, backlog=5000, by=by, subscribers=named)
    stage.ask("r")
    assert stage.it.asks(Append) is not counts


@pytest.mark.proves("W17")
@pytest.mark.parametrize(
    ("liveness", "counts"),
    [(Liveness.LIVE, True), (Liveness.SILENT, True), (Liveness.GONE, False), (Liveness.STOPPED, False)],
)
def test_a_silent_subscriber_still_counts_and_a_gone_one_does_not(liveness: Liveness, counts: bool) -> None:
    stage = Stage(subscriber(liveness=liveness), backlog=5000)
    stage.ask("r")
    assert stage.it.asks(Append) is not counts


@pytest.mark.proves("W17")
def test_the_backlog_begins_after_the_last_processed_package_if_there_is_one() -> None:
    stage = Stage(subscriber("fresh", offset=-1), subscriber("edge", offset=7))
    stage.ask("r")
    (query,) = stage.it.sent(SizesQuery)
    assert [(queue.publisher, queue.after) for queue in query.queues] == [("site", -1), ("site", 7)]


def test_a_position_known_to_be_on_another_log_does_not_count_on_this_one() -> None:
    there, here = subscriber("there", offset=7), subscriber("here", offset=7)
    members = [
        replaced(each, announcement=replaced(each.announcement, log_id=log_id))
        for each, log_id in ((there, "former"), (here, "log-1"))
    ]
    stage = Stage(*members)
    stage.ask("r", answer=False)
    stage.it.feed(FleetView(members=stage.members), Origin("fleet"))
    first = stage.it.sent(SizesQuery)[-1].queues
    stage.it.feed(Sizes(queues=first, log_id="log-1"), Origin("queue_cache"))
    again = stage.it.sent(SizesQuery)[-1].queues
    assert [[queue.after for queue in asked] for asked in (first, again)] == [[7, 7], [-1, 7]]
    assert not stage.it.asks(Append)
    full = (replaced(again[0], size=5000), replaced(again[1], size=0))
    stage.it.feed(Sizes(queues=full, log_id="log-1"), Origin("queue_cache"))
    assert not stage.it.asks(Append)
    assert len(stage.it.sent(SizesQuery)) == 2


@pytest.mark.proves("W31")
def test_a_delayed_request_blocks_neither_its_repetition_nor_tests_nor_earlier_requests() -> None:
    stage = Stage(subscriber(), backlog=0)
    stage.ask("1")
    stage.append()
    stage.backlog = 5000
    stage.it.pass_time(2)
    stage.ask("22")
    assert not stage.it.asks(Append)
    stage.ask("1")
    assert [answer.request_id for answer in stage.answers()] == ["1", "1"]
    stage.ask("333", Kind.TEST)
    assert stage.append() == ["333"]
    assert stage.answers()[-1].throttled_by == ""
    stage.it.tick("admit")
    assert stage.append() == ["22"]


@pytest.mark.proves("W31")
def test_every_request_is_delayed_by_the_backlog_when_it_arrives() -> None:
    stage = Stage(subscriber(), backlog=5000)
    stage.ask("1")
    stage.it.tick("admit")
    stage.append()
    stage.backlog = 0
    stage.ask("22")
    assert stage.append() == ["22"], "the queue is empty now; older figures do not count"
    stage.backlog = 1990
    stage.it.pass_time(2)
    stage.ask("333")
    assert stage.it.timers["admit"] - stage.it.now.mono_s == pytest.approx(19.8)


def test_requests_within_a_second_share_a_measurement_and_count_each_other() -> None:
    stage = Stage(subscriber(), backlog=1000)
    stage.ask("1")
    assert stage.append() == ["1"]
    stage.ask("22")
    stage.ask("333")
    assert len(stage.it.sent(FleetQuery)) == 1
    stage.it.tick("admit")
    assert stage.append() == ["22"]
    stage.it.tick("admit")
    assert stage.append() == ["333"]
    assert [answer.throttled_ms for answer in stage.answers()] == [0, 20, 40]


@pytest.mark.proves("W31")
def test_delayed_requests_keep_their_order_even_if_a_later_one_needs_no_delay() -> None:
    stage = Stage(subscriber("edge"), backlog=5000)
    stage.ask("1")
    stage.ask("22", recipients=("other",))
    assert not stage.it.asks(Append)
    stage.it.tick("admit")
    assert stage.append() == ["1", "22"]


def test_a_subscriber_does_not_delay_requests_that_are_not_for_it() -> None:
    stage = Stage(subscriber("edge"), backlog=5000)
    stage.ask("1", recipients=("other",))
    assert stage.append() == ["1"]


def test_packages_for_one_subscriber_are_not_in_the_backlog_of_others() -> None:
    stage = Stage(subscriber("edge"), subscriber("other"), backlog=1000)
    stage.ask("1", recipients=("other",))
    assert stage.append() == ["1"]
    stage.ask("22", recipients=("other",))
    stage.ask("333", recipients=("edge",))
    stage.it.tick("admit")
    stage.append()
    delays = {answer.request_id: (answer.throttled_ms, answer.throttled_by) for answer in stage.answers()}
    assert delays["22"] == (20, "other"), "1000, and the one appended since"
    assert delays["333"] == (20, "other"), "it keeps its place behind the other, with no longer backlog"
    (query,) = stage.it.sent(SizesQuery)
    assert [queue.subscriber for queue in query.queues] == ["edge", "other"]


def test_a_test_package_delays_no_request() -> None:
    stage = Stage(subscriber(), backlog=1000)
    for name in ("1", "22", "333"):
        stage.ask(name, Kind.TEST)
        stage.append()
    stage.ask("4444")
    assert stage.append() == ["4444"]


def test_a_backlog_that_cannot_be_measured_delays_requests_only_briefly() -> None:
    stage = Stage(subscriber(), backlog=0)
    stage.ask("1", answer=False)
    assert not stage.it.asks(Append)
    assert stage.it.timers["measure"] == stage.it.now.mono_s + ANSWER_S
    stage.it.tick("measure")
    assert stage.append() == ["1"]
    assert "backlog.not_measured" in stage.it.notes()


def test_the_last_measurement_stays_in_force_while_a_queue_cannot_be_read() -> None:
    stage = Stage(subscriber(), backlog=1500)
    stage.ask("1")
    stage.it.tick("admit")
    stage.append()
    stage.ask("22", answer=False)
    stage.it.feed(FleetView(members=stage.members), Origin("fleet"))
    (queue,) = stage.it.sent(SizesQuery)[-1].queues
    stage.it.feed(Sizes(queues=(queue,), problem="the log is away"), Origin("queue_cache"))
    assert stage.it.timers["admit"] - stage.it.now.mono_s == pytest.approx(10)


def test_an_answer_to_an_earlier_question_is_not_taken_for_this_one() -> None:
    stage = Stage(subscriber(), backlog=5000)
    stage.ask("1", answer=False)
    stage.it.feed(Sizes(queues=()), Origin("queue_cache"))
    assert not stage.it.asks(Append)


def test_without_a_throttle_no_backlog_is_measured() -> None:
    stage = Stage(subscriber(), backlog=5000, by="none")
    stage.ask("1")
    assert stage.append() == ["1"]
    assert stage.it.sent(FleetQuery) == []


def test_on_stop_delayed_requests_are_refused_and_can_be_repeated() -> None:
    stage = Stage(subscriber(), backlog=5000)
    stage.ask("1")
    stage.it.feed(Stopping())
    assert stage.it.stopped
    (answer,) = stage.answers()
    assert answer.retry
    assert "stopping" in answer.reason


def test_packages_being_built_are_not_delayed_by_later_requests() -> None:
    stage = Stage(subscriber(), backlog=0)
    request = DistributeRequest(request_id="1", kind=Kind.ADD, paths=("/a",), source="/s")
    stage.it.feed(request, Origin("gateway", 1))
    stage.answer()
    stage.it.pass_time(2)
    stage.backlog = 5000
    stage.ask("22")
    effect = stage.it.asked(BuildPackage)
    package = PackageMessage(publisher_instance="", package_id="", kind=Kind.ADD, paths=("/a",), entries=1)
    stage.it.open.remove(effect)
    stage.it.feed(Done(effect, package))
    assert stage.append() == ["1"]


@pytest.mark.proves("F17")
def test_a_throttle_is_announced_with_its_subscriber_and_start_and_again_when_it_ends() -> None:
    stage = Stage(subscriber(), backlog=1500)
    stage.ask("r")
    began_ns = stage.it.now.wall_ns
    (told,) = stage.it.told
    assert (told.publisher, told.subscriber, told.backlog) == ("site", "edge", 1500)
    assert (told.waiting, told.delay_ms, told.since_ns) == (1, 10_000, began_ns)
    stage.backlog = 0
    stage.it.tick("admit")
    stage.append()
    stage.it.tick("notice")
    over = stage.it.told[-1]
    assert (over.subscriber, over.since_ns) == ("", began_ns)
    assert "notice" not in stage.it.timers


def test_a_short_delay_is_not_announced() -> None:
    stage = Stage(subscriber(), backlog=1001)
    stage.ask("r")
    assert stage.it.told == []
