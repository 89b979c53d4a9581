"""Each event is written at least once, with the same key, whichever actors die and services fail meanwhile."""

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
def test_no_event_is_lost_while_the_fleet_is_empty(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    stage.publish("p0")
    stage.announce("edge", 0)
    stage.run()
    stage.announce("edge", 0, Liveness.GONE)
    stage.publish("p1")
    stage.run()
    assert stage.told("distributed") == [0], "no subscriber is there"
    stage.publish("p2")
    stage.announce("edge", 2)
    stage.run()
    assert stage.told("distributed") == [0, 1, 2]


@pytest.mark.proves("F67")
def test_an_incomplete_view_of_the_fleet_distributes_nothing(notifier_stage: type[Stage]) -> None:
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
def test_only_live_and_silent_followers_count(
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


def test_the_time_of_a_record_alone_does_not_make_a_subscriber_gone(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("distributed",))
    stage.publish("p0")
    stage.announce("fast", 1)
    stage.announce("slow", -1, Liveness.GONE)  # as a fleet with a wrong clock sees it just after its start
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
def test_every_kind_of_event_is_written_with_its_fields(notifier_stage: type[Stage]) -> None:
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
def test_a_notifier_killed_at_any_step_loses_no_event_and_repeats_keep_their_key(
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
def test_an_unavailable_log_costs_no_event(notifier_stage: type[Stage], away: type[Any]) -> None:
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
def test_a_successor_continues_from_the_marks_and_repeats_no_event(notifier_stage: type[Stage]) -> None:
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


def test_marks_are_found_behind_any_number_of_later_records(notifier_stage: type[Stage]) -> None:
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


def test_a_kind_of_event_that_is_enabled_later_begins_at_the_oldest_record(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("created",))
    stage.publish("p0")
    stage.run()
    stage.kinds = ("created", "queued")
    stage.kill()
    stage.publish("p1")
    stage.run()
    assert (stage.told("created"), stage.told("queued")) == ([0, 1], [0, 1])


def test_another_log_is_read_from_its_beginning_and_old_marks_do_not_apply(notifier_stage: type[Stage]) -> None:
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


def test_a_status_repeated_on_another_log_is_an_event_there_whichever_topic_is_read_first(
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


def test_a_package_trimmed_before_its_event_was_written_is_skipped_and_logged(notifier_stage: type[Stage]) -> None:
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


def test_events_of_many_packages_and_their_marks_need_few_appends(notifier_stage: type[Stage]) -> None:
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


def test_the_packages_held_for_a_slow_subscriber_are_bounded(
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


def test_without_kinds_of_events_nothing_is_read_or_written(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(())
    stage.publish("p0")
    stage.run()
    assert stage.it.open == []
    assert stage.it.timers == {}


def test_an_idle_publisher_renews_its_marks_before_retention_removes_them(notifier_stage: type[Stage]) -> None:
    stage = notifier_stage(("created",))
    stage.run()
    assert stage.topics["t.event"] == []
    stage.it.tick("renew")
    stage.run()
    assert isinstance(stage.marks(), EventMarks)


@pytest.mark.proves("F68")
@pytest.mark.parametrize("keys", [True, False])
def test_two_notifiers_of_one_publisher_lose_no_event_and_repeat_few(notifier_stage: type[Stage], keys: bool) -> None:
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
