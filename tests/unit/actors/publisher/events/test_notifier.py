"""Events are told at least once each, with the same key, whatever dies and whatever is away meanwhile."""

from collections import Counter
from typing import Any

import pytest

from callboard.actors.core.decision import PeerUp
from callboard.actors.core.effects import Append, FindBounds, ReadLog
from callboard.actors.publisher.events.notifier import HEARD_LEASES
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.package_event import EventMarks, Mark, event_record
from callboard.messages.distribution.topic_messages import Status

Stage = Any
LEASE_S = 30.0


@pytest.mark.proves("F65", "F66", "W14")
def test_a_package_is_distributed_when_the_slowest_subscriber_is_past_it(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    for name in ("p0", "p1", "p2"):
        stage.publish(name)
    stage.announce("fast", 2)
    stage.announce("slow", 0)
    stage.run()
    assert stage.told("distributed") == [0]
    stage.announce("slow", 2)
    stage.run()
    assert stage.told("distributed") == [0, 1, 2]
    event = list(stage.events())[-1]
    assert (event.publisher, event.package_id, event.paths, event.user) == ("site", "p2", ("/a",), "ann")


@pytest.mark.proves("F65", "F67", "W14")
def test_a_new_subscriber_that_is_far_behind_causes_no_repeats(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    for name in ("p0", "p1"):
        stage.publish(name)
    stage.announce("edge", 1)
    stage.run()
    stage.announce("new", -1)
    stage.publish("p2")
    stage.announce("edge", 2)
    stage.run()
    assert stage.told("distributed") == [0, 1]
    for offset in (0, 1, 2):
        stage.announce("new", offset)
        stage.run()
    assert stage.told("distributed") == [0, 1, 2]


@pytest.mark.proves("W14")
def test_a_fleet_that_was_empty_for_a_while_costs_no_event(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    stage.publish("p0")
    stage.announce("edge", 0)
    stage.run()
    stage.announce("edge", 0, Liveness.GONE)
    stage.publish("p1")
    stage.run()
    assert stage.told("distributed") == [0], "nobody is there to have it"
    stage.publish("p2")
    stage.announce("edge", 2)
    stage.run()
    assert stage.told("distributed") == [0, 1, 2]


@pytest.mark.proves("F67")
def test_nothing_is_distributed_by_a_view_in_which_somebody_may_be_missing(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    stage.publish("p0")
    stage.announce("fast", 0)
    stage.unread = 7
    stage.run()
    assert stage.told("distributed") == []
    stage.unread = 0
    stage.run()
    assert stage.told("distributed") == [0]


@pytest.mark.proves("F65")
@pytest.mark.parametrize(
    ("slow", "told"),
    [
        ({}, []),
        ({"liveness": Liveness.SILENT}, []),
        ({"log_id": "another"}, []),
        ({"liveness": Liveness.GONE}, [0]),
        ({"liveness": Liveness.STOPPED}, [0]),
        ({"follows": ("shop",)}, [0]),
    ],
)
def test_live_and_silent_followers_count_and_others_do_not(
    notifier_stage: type[Stage], slow: dict[str, Any], told: list[int]
) -> None:
    stage = notifier_stage(("distributed",))
    stage.publish("p0")
    stage.announce("fast", 0)
    stage.announce("slow", 0 if "log_id" in slow else -1, **slow)
    stage.run()
    stage.it.pass_time(HEARD_LEASES * LEASE_S + 1)
    stage.run()
    assert stage.told("distributed") == told


def test_a_date_makes_no_subscriber_gone_before_it_could_speak_again(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    stage.publish("p0")
    stage.announce("fast", 1)
    stage.announce("slow", -1, Liveness.GONE)  # as a fleet that has just begun takes it, by a clock that is wrong
    stage.run()
    assert stage.told("distributed") == []
    stage.announce("slow", 0)
    stage.run()
    assert stage.told("distributed") == [0]
    stage.it.pass_time(LEASE_S + 1)
    stage.publish("p1")
    stage.it.feed(PeerUp("fleet"))
    stage.announce("slow", 0, Liveness.GONE)
    stage.run()
    assert stage.told("distributed") == [0]
    stage.it.pass_time(2 * LEASE_S)  # it watches the lease of its former instance, and then announces itself
    stage.run()
    assert stage.told("distributed") == [0]
    stage.it.pass_time(LEASE_S + 1)
    stage.run()
    assert stage.told("distributed") == [0, 1]


@pytest.mark.proves("F66", "F91", "F92")
def test_every_kind_of_event_is_told_with_what_belongs_to_it(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage()
    stage.publish("other", publisher="shop")
    offset = stage.publish("p1", paths=("/a", "/b"))
    stage.it.pass_time(1)
    stage.tell(offset, "p1", "edge-1", 1)
    stage.tell(offset, "p1", "edge-2", 1, Status.REMOVED_FAILED)
    stage.tell(offset, "p1", "edge-3", 1, Status.HELD)
    stage.tell(offset, "p1", "edge-4", 1, Status.REMOVED)
    stage.announce("edge-1", offset)
    stage.run()
    events = list(stage.events())
    assert Counter(event.kind for event in events) == {
        "created": 1, "queued": 1, "distributed": 1, "imported": 1, "failed": 2,
    }  # fmt: skip
    assert all((event.publisher, event.package_id, event.offset) == ("site", "p1", offset) for event in events)
    assert all((event.paths, event.request, event.length) == (("/a", "/b"), "ADD", 7) for event in events)
    told = {event.kind: event for event in events}
    assert (told["created"].time_ns, told["queued"].time_ns) == (5, stage.topics["t.package"][offset].time_ns)
    assert told["distributed"].time_ns > told["queued"].time_ns
    assert [(e.subscriber, e.outcome, e.reason) for e in events if e.kind in ("imported", "failed")] == [
        ("edge-1", "IMPORTED", ""), ("edge-2", "REMOVED_FAILED", "disk full"), ("edge-3", "HELD", "disk full"),
    ]  # fmt: skip


@pytest.mark.proves("W14", "F69")
@pytest.mark.parametrize("keys", [True, False])
def test_killed_at_any_step_it_tells_everything_and_what_it_repeats_has_the_same_key(
    notifier_stage: type[Stage], keys: bool
) -> None:
    def play(kill_at: int) -> Stage:
        stage = notifier_stage(keys=keys)
        stage.kill_at = kill_at
        for number in range(3):
            offset = stage.publish(f"p{number}")
            stage.publish(f"q{number}", publisher="shop")
            stage.announce("edge", offset - 1 if number else -1)
            stage.run_killed()
            stage.tell(offset, f"p{number}", "edge", number + 1, Status.HELD if number == 1 else Status.IMPORTED)
            stage.announce("edge", offset)
            stage.run_killed()
        return stage

    whole = play(-1)
    expected = {event.dedup_key: (event.kind, event.package_id) for event in whole.events()}
    assert len(expected) == 3 * 3 + 3
    for kill_at in range(1, whole.steps + 1):
        stage = play(kill_at)
        told = list(stage.events())
        assert {event.dedup_key: (event.kind, event.package_id) for event in told} == expected, f"killed at {kill_at}"
        if keys:
            assert len(told) == len(expected)


@pytest.mark.proves("W14", "F69", "R15")
@pytest.mark.parametrize("away", [Append, ReadLog, FindBounds])
def test_a_log_that_was_away_costs_no_event(notifier_stage: type[Stage], away: type[Any]) -> None:
    stage = notifier_stage(keys=False)
    stage.announce("edge", 9)
    stage.publish("p0")
    stage.tell(0, "p0", "edge", 1)
    stage.unavailable = {away}
    stage.run()
    assert list(stage.events()) == []
    stage.unavailable = set()
    for _ in range(3):
        stage.run()
    assert Counter(event.kind for event in stage.events()) == {
        "created": 1, "queued": 1, "distributed": 1, "imported": 1,
    }  # fmt: skip


@pytest.mark.proves("W15", "F69")
def test_a_successor_goes_on_where_the_log_says_and_repeats_nothing_of_history(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(keys=False)
    stage.announce("edge", 99)
    for number in range(20):
        stage.publish(f"p{number}")
        stage.tell(number, f"p{number}", "edge", number + 1)
    stage.run()
    before = [event.dedup_key for event in stage.events()]
    assert len(before) == len(set(before)) == 80
    for _ in range(3):
        stage.kill()
        stage.run()
    assert [event.dedup_key for event in stage.events()] == before


def test_marks_are_found_however_far_back_others_pushed_them(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("created",), keys=False)
    stage.publish("p0")
    stage.run()
    others = EventMarks(publisher="shop", marks=(Mark(kind="created", log_id="L1", offset=7),))
    for _ in range(9000):
        stage.put("t.event", event_record(others, 0, "shop/i"))
    stage.kill()
    stage.publish("p1")
    stage.run()
    assert stage.told("created") == [0, 1]


def test_a_kind_that_is_switched_on_later_begins_at_the_oldest_record(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("created",))
    stage.publish("p0")
    stage.run()
    stage.kinds = ("created", "queued")
    stage.kill()
    stage.publish("p1")
    stage.run()
    assert (stage.told("created"), stage.told("queued")) == ([0, 1], [0, 1])


def test_another_log_is_told_from_its_beginning_and_the_old_marks_do_not_apply(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("queued", "distributed"))
    for number in range(5):
        stage.publish(f"p{number}")
    stage.announce("edge", 4)
    stage.run()
    stage.replace("t.package")
    stage.publish("n0")
    for _ in range(2):
        stage.kill()
        stage.run()
    assert stage.told("distributed") == [0, 1, 2, 3, 4], "the subscriber has nothing of the new log yet"
    stage.announce("edge", 0, log_id="L1'")
    stage.run()
    assert [event.package_id for event in stage.events() if event.kind == "distributed"][5:] == ["n0"]
    assert [event.package_id for event in stage.events() if event.kind == "queued"][5:] == ["n0"]


def test_what_is_told_again_on_another_log_is_an_event_there_whichever_topic_is_read_first(
    notifier_stage: type[Stage],
) -> None:
    stage = notifier_stage(("failed",))
    for topic in ("t.package", "t.status", "t.event"):
        stage.publish("p0")
        stage.tell(0, "p0", "edge", 1, Status.REMOVED_FAILED)
        stage.run()
        assert stage.told("failed") == [0]
        stage.replace(topic)
    for _ in range(2):
        stage.run()
    assert stage.told("failed") == [0]


def test_what_was_trimmed_before_it_was_told_is_passed_over_with_a_line(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("created",))
    stage.publish("p0")
    stage.run()
    stage.kill()
    stage.publish("p1")
    stage.publish("p2")
    stage.first["t.package"] = 2
    stage.run()
    assert stage.told("created") == [0, 2]
    assert "event.impossible" in stage.it.notes()


def test_many_packages_cost_few_appends_and_marks_come_with_them(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed", "failed"))
    for number in range(400):
        stage.publish(f"p{number}")
    stage.announce("edge", 399)
    stage.run()
    assert len(stage.told("distributed")) == 400
    assert stage.appends <= 2
    marks = stage.marks()
    assert isinstance(marks, EventMarks)
    assert {mark.kind: mark.offset for mark in marks.marks} == {"distributed": 400, "failed": 0}


def test_no_more_than_a_bounded_number_of_packages_is_held_for_a_subscriber_that_is_behind(
    notifier_stage: type[Stage],
) -> None:
    stage = notifier_stage(("distributed",))
    for number in range(4000):
        stage.publish(f"p{number}")
    stage.announce("edge", -1)
    stage.run()
    (source,) = stage.it.decision._strands
    assert len(source.waiting) <= 1500
    stage.announce("edge", 3999)
    for _ in range(10):
        stage.run()
    assert stage.told("distributed") == list(range(4000))


def test_without_kinds_nothing_is_read_and_nothing_is_written(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(())
    stage.publish("p0")
    stage.run()
    assert stage.it.open == []
    assert stage.it.timers == {}


def test_a_quiet_publisher_renews_its_marks_so_that_no_retention_takes_the_newest(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("created",))
    stage.run()
    assert stage.topics["t.event"] == []
    stage.it.tick("renew")
    stage.run()
    assert isinstance(stage.marks(), EventMarks)


@pytest.mark.proves("F68")
@pytest.mark.parametrize("keys", [True, False])
def test_two_notifiers_of_one_publisher_leave_nothing_out_and_repeat_little(
    notifier_stage: type[Stage], keys: bool
) -> None:
    one = notifier_stage(keys=keys)
    two = notifier_stage(keys=keys)
    two.topics, two.keyed = one.topics, one.keyed
    for number in range(5):
        one.publish(f"p{number}")
        one.tell(number, f"p{number}", "edge", number + 1)
        for stage in (one, two):
            stage.announce("edge", number)
            stage.run()
    told = Counter(event.dedup_key for event in one.events())
    assert len(told) == 20
    assert set(told.values()) == {1}
