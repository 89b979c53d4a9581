from dataclasses import replace
from random import Random

import pytest

from callboard.actors.core.decision import Done, Effect, Failed, Input, Moment, Note, Origin, Reply, Started, Tick
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.core.follower import READ_WAIT_S
from callboard.actors.publisher.fleet.fleet import Fleet, FleetSettings
from callboard.errors import LogUnavailable
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView, Liveness
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    LogMessage,
    State,
    SubscriberConfiguration,
    ThrottledMessage,
)
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import Record

CONFIGURATION = SubscriberConfiguration(editable=False, max_retries=-1)
FIND = FindBounds("d")
START_S = 100.0
SECOND = 10**9


def at(now_s: float) -> Moment:
    """The wall clock shows an hour more than the monotonic one."""
    return Moment(int((now_s + 3600) * SECOND), now_s)


def announcement(name: str, instance: str = "i1", state: State = State.IDLE, interval_s: int = 10) -> DiscoveryMessage:
    return DiscoveryMessage(
        subscriber_instance=instance, subscriber=name, configuration=CONFIGURATION, state=state,
        announce_interval_ms=interval_s * 1000,
    )  # fmt: skip


class Stage:
    """A fleet, and the discovery topic that it follows."""

    def __init__(self, **bounds: int) -> None:
        self.fleet = Fleet(FleetSettings("d", **bounds), Random(1))
        self.offset = 10
        self.read: ReadLog | None = None
        self.now_s = START_S
        self.tell(Started(), START_S)

    def tell(self, message: Input, now_s: float, question: int = 0) -> list[Effect]:
        effects = list(self.fleet.receive(message, Origin("gateway", question), at(now_s)))
        self.read = next((effect for effect in effects if isinstance(effect, ReadLog)), self.read)
        return effects

    def begin(self, *history: tuple[Event, float]) -> list[Effect]:
        """Position it before the history and deliver that; each event with the time when it was written."""
        self.tell(Done(FIND, TopicBounds("L1", self.offset, self.offset + len(history))), START_S)
        return self.deliver(*history, now_s=START_S) if history else []

    def wait(self, now_s: float) -> None:
        """Find nothing new until then."""
        while now_s - self.now_s > READ_WAIT_S:
            self.now_s += READ_WAIT_S
            self.read_on((), self.now_s)
        self.now_s = now_s

    def deliver(self, *events: tuple[Event, float], now_s: float) -> list[Effect]:
        self.wait(now_s)
        records = []
        for event, written_s in events:
            new = new_record(event, record_id="r", time_ns=0, producer="test")
            time_ns = at(written_s).wall_ns
            records.append(new.at(self.offset, time_ns))
            self.offset += 1
        return self.read_on(tuple(records), now_s)

    def read_on(self, records: tuple[Record, ...], now_s: float) -> list[Effect]:
        return self.tell(Done(self.pending(), LogRead("L1", records, self.offset)), now_s)

    def pending(self) -> ReadLog:
        pending = self.fleet._follower._pending
        assert isinstance(pending, ReadLog)
        return pending

    def ask(self, now_s: float, question: int = 1) -> list[Effect]:
        """Ask, and find nothing new on the topic."""
        self.wait(now_s)
        assert self.tell(FleetQuery(), now_s, question) == [FIND]
        return self.tell(Done(FIND, TopicBounds("L1", 0, self.offset)), now_s)

    def view(self, now_s: float) -> dict[str, tuple[str, Liveness]]:
        (reply,) = self.ask(now_s)
        assert isinstance(reply, Reply)
        assert isinstance(reply.event, FleetView)
        return {
            member.announcement.subscriber: (member.announcement.subscriber_instance, member.liveness)
            for member in reply.event.members
        }


@pytest.mark.proves("R6")
def test_an_empty_topic_gives_an_empty_fleet_at_once() -> None:
    stage = Stage()
    stage.begin()
    assert stage.view(START_S) == {}


@pytest.mark.proves("F6")
def test_only_the_newest_part_of_a_long_topic_is_read() -> None:
    stage = Stage(history=3)
    stage.tell(Done(FIND, TopicBounds("L1", 0, 10)), START_S)
    assert stage.read
    assert stage.read.start == 7


@pytest.mark.proves("F64", "W26")
def test_a_question_waits_for_the_history() -> None:
    stage = Stage()
    assert stage.tell(FleetQuery(), START_S, question=5) == [FIND]
    effects = stage.begin((announcement("edge"), START_S))
    (reply,) = (effect for effect in effects if isinstance(effect, Reply))
    assert reply.origin.question == 5


@pytest.mark.proves("F60", "F64")
def test_announcements_before_the_question_are_in_the_answer() -> None:
    stage = Stage()
    stage.begin((announcement("edge"), START_S))
    stage.tell(FleetQuery(), START_S, question=5)
    (probe,) = stage.tell(Done(FIND, TopicBounds("L1", 10, 12)), START_S)  # one more than was read
    assert isinstance(probe, ReadLog)
    waiting = new_record(announcement("edge"), record_id="r", time_ns=0, producer="test").at(11, 0)
    assert stage.tell(Done(probe, LogRead("L1", (waiting,), 12)), START_S) == []
    (reply,) = (
        effect
        for effect in stage.deliver((announcement("edge", state=State.STOPPED), START_S), now_s=START_S)
        if isinstance(effect, Reply)
    )
    assert isinstance(reply.event, FleetView)
    assert [member.liveness for member in reply.event.members] == [Liveness.STOPPED]


def test_offsets_without_a_record_at_the_end_do_not_delay_the_answer() -> None:
    stage = Stage()
    stage.begin((announcement("edge"), START_S))
    stage.tell(FleetQuery(), START_S, question=5)
    (probe,) = stage.tell(Done(FIND, TopicBounds("L1", 10, 15)), START_S)
    assert probe == ReadLog("d", 11, max_records=1, owner="probe")  # which does not wait for more
    (reply,) = stage.tell(Done(probe, LogRead("L1", (), 15)), START_S)
    assert isinstance(reply, Reply)


def test_a_subscriber_whose_clock_is_a_day_behind_is_live_by_the_records_before_its_announcement() -> None:
    stage = Stage()
    stage.begin((announcement("edge-2"), START_S - 2), (announcement("edge-1"), START_S - 86_400))
    assert stage.view(START_S) == {"edge-1": ("i1", Liveness.LIVE), "edge-2": ("i1", Liveness.LIVE)}
    stage.deliver((announcement("edge-1"), START_S - 86_400), now_s=START_S + 5)
    (reply,) = stage.ask(START_S + 5)
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, FleetView)
    assert reply.event.members[0].seen_ns == at(START_S + 5).wall_ns


def test_a_clock_that_is_ahead_does_not_make_a_gone_subscriber_live() -> None:
    stage = Stage()
    stage.begin((announcement("edge-2"), START_S + 86_400), (announcement("edge-1"), START_S - 7200))
    assert stage.view(START_S)["edge-1"] == ("i1", Liveness.GONE)


def test_a_publisher_is_throttled_until_it_says_otherwise_or_falls_silent() -> None:
    def told(stage: Stage, now_s: float) -> list[tuple[str, int]]:
        (reply,) = stage.ask(now_s)
        assert isinstance(reply, Reply)
        assert isinstance(reply.event, FleetView)
        return [(said.subscriber, said.backlog) for said in reply.event.throttled]

    said = ThrottledMessage(publisher="site", publisher_instance="p1", subscriber="edge", backlog=1500)
    stage = Stage()
    stage.begin((said, START_S - 5))
    assert told(stage, START_S) == [("edge", 1500)]
    assert told(stage, START_S + 26) == []
    stage.deliver((replace(said, backlog=1400), START_S + 30), now_s=START_S + 30)
    assert told(stage, START_S + 31) == [("edge", 1400)]
    stage.deliver((replace(said, subscriber="", backlog=0), START_S + 32), now_s=START_S + 32)
    assert told(stage, START_S + 33) == []


def test_what_folds_announce_is_no_subscriber_and_no_trouble() -> None:
    stage = Stage()
    said = FoldAnnouncementMessage(kind="entities", name="bank.account", incarnation="i", interval_s=15)
    effects = stage.begin((said, START_S), (announcement("edge"), START_S))
    assert not [each for each in effects if isinstance(each, Note)]
    assert list(stage.view(START_S)) == ["edge"]


def test_a_failing_log_does_not_delay_the_answer() -> None:
    stage = Stage()
    stage.begin((announcement("edge"), START_S))
    stage.tell(FleetQuery(), START_S, question=5)
    (reply,) = stage.tell(Failed(FIND, LogUnavailable("away")), START_S)
    assert isinstance(reply, Reply)


def test_the_view_is_sorted_by_name_and_has_the_newest_announcement_of_each() -> None:
    stage = Stage()
    stage.begin((announcement("b"), 99), (announcement("a"), 99), (announcement("b", state=State.IMPORTING), 99))
    (reply,) = stage.ask(START_S)
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, FleetView)
    assert [member.announcement.subscriber for member in reply.event.members] == ["a", "b"]
    assert reply.event.members[1].announcement.state is State.IMPORTING
    assert reply.event.members[1].seen_ns == at(99).wall_ns


@pytest.mark.proves("F63", "W26")
@pytest.mark.parametrize(
    ("silence_s", "interval_s", "liveness"),
    [
        (30, 10, Liveness.LIVE),
        (31, 10, Liveness.SILENT),
        (31, 11, Liveness.LIVE),
        (29, 1, Liveness.LIVE),
        (3600, 10, Liveness.SILENT),
        (3601, 10, Liveness.GONE),
    ],
)
def test_a_subscriber_falls_silent_then_gone_but_never_vanishes(
    silence_s: int, interval_s: int, liveness: Liveness
) -> None:
    stage = Stage()
    stage.begin()
    stage.deliver((announcement("edge", interval_s=interval_s), 0), now_s=200)
    assert stage.view(200.0 + silence_s) == {"edge": ("i1", liveness)}


def test_live_announcements_count_from_when_they_are_read_not_from_the_senders_time() -> None:
    stage = Stage()
    stage.begin()
    stage.deliver((announcement("slow"), -2000), (announcement("fast"), 9000), now_s=200)
    assert stage.view(201.0) == {"fast": ("i1", Liveness.LIVE), "slow": ("i1", Liveness.LIVE)}


def test_history_counts_from_the_time_of_its_records() -> None:
    stage = Stage()
    stage.begin((announcement("silent"), START_S - 60), (announcement("live"), START_S - 5))
    assert stage.view(START_S) == {"live": ("i1", Liveness.LIVE), "silent": ("i1", Liveness.SILENT)}


def test_a_subscriber_that_said_goodbye_is_stopped() -> None:
    stage = Stage()
    stage.begin((announcement("edge", state=State.STOPPED), 99))
    assert stage.view(9999.0) == {"edge": ("i1", Liveness.STOPPED)}


def test_no_subscriber_falls_silent_while_the_log_cannot_be_read() -> None:
    stage = Stage()
    stage.begin()
    stage.deliver((announcement("edge"), 200), now_s=200)
    stage.tell(Failed(stage.pending(), LogUnavailable("away")), 9000)
    for now_s in range(9005, 9100, 5):
        assert FIND in stage.tell(Tick("follow d"), now_s)
        stage.tell(Failed(FIND, LogUnavailable("away")), now_s)
    stage.tell(Tick("follow d"), 9100)
    stage.tell(Done(FIND, TopicBounds("L1", 0, stage.offset)), 9100)
    stage.now_s = 9100
    assert stage.view(9101)["edge"] == ("i1", Liveness.LIVE)


def test_a_suspended_publisher_calls_no_subscriber_gone_before_it_has_caught_up() -> None:
    stage = Stage()
    stage.begin()
    stage.deliver((announcement("edge"), 200), now_s=200)
    stage.now_s = 9000
    assert stage.view(9000)["edge"] == ("i1", Liveness.LIVE)
    assert stage.view(9031)["edge"] == ("i1", Liveness.SILENT)


def test_of_two_instances_with_one_name_the_earlier_holds_it_while_it_is_live() -> None:
    stage = Stage()
    stage.begin()
    stage.deliver((announcement("edge", "first"), 200), (announcement("edge", "second"), 200), now_s=200)
    assert stage.view(201)["edge"] == ("first", Liveness.LIVE)
    stage.deliver((announcement("edge", "second", State.STOPPED), 205), now_s=205)
    assert stage.view(206)["edge"] == ("first", Liveness.LIVE)
    stage.deliver((announcement("edge", "second"), 240), now_s=240)
    assert stage.view(241)["edge"] == ("second", Liveness.LIVE)


def test_a_silent_holder_is_replaced_by_an_older_version_that_announces_no_takeover() -> None:
    stage = Stage()
    stage.begin()
    stage.deliver((replace(announcement("edge", "new"), lease_ms=30_000), 200), now_s=200)
    stage.deliver((announcement("edge", "old"), 229), now_s=229)
    assert stage.view(229)["edge"] == ("new", Liveness.LIVE)
    stage.deliver((announcement("edge", "old"), 240), now_s=240)
    assert stage.view(241)["edge"] == ("old", Liveness.LIVE)


def test_a_stopped_instance_is_replaced_at_once() -> None:
    stage = Stage()
    stage.begin((announcement("edge", "first", State.STOPPED), 99), (announcement("edge", "second"), 99))
    assert stage.view(START_S)["edge"] == ("second", Liveness.LIVE)


def test_records_other_than_announcements_are_ignored() -> None:
    stage = Stage()
    line = LogMessage(publisher="p", subscriber_instance="i", subscriber="edge", message="failed")
    stage.begin((line, 99), (CONFIGURATION, 99), (announcement("edge"), 99))
    assert list(stage.view(START_S)) == ["edge"]


def test_beyond_its_bound_the_fleet_forgets_the_longest_silent_subscribers() -> None:
    stage = Stage(max_members=2)
    stage.begin((announcement("a"), 99), (announcement("b"), 99), (announcement("a"), 99), (announcement("c"), 99))
    assert list(stage.view(START_S)) == ["a", "c"]
