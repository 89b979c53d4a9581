from random import Random

import pytest

from callboard.actors.core.decision import Done, Stopping
from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.subscriber.importing.package_poller import PackagePoller
from callboard.errors import CallboardError, LogReplaced, LogUnavailable, OffsetOutOfRange
from callboard.messages.distribution.mailbox import Obstacle, PackagesRead, PackagesUnavailable, PackagesWanted
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import LOG, TOPICS, package, settings


def poller(start: int = 10) -> DecisionDriver:
    it = DecisionDriver(PackagePoller(settings(), Random(1)))
    it.feed(wish(start))
    return it


def wish(start: int) -> PackagesWanted:
    return PackagesWanted(log_id=LOG, start=start, max_records=5, max_bytes=1000)


def test_it_reads_the_requested_packages_only() -> None:
    it = poller()
    records = (package(10), package(12))
    assert it.done(ReadLog, LogRead(LOG, records, 13)) == ReadLog(TOPICS.package, 10, 5, 1000, 0.5, owner="wish 1")
    assert it.sent(PackagesRead) == [PackagesRead(log_id=LOG, start=10, next=13, records=records)]
    assert not it.open


def test_at_the_end_it_waits_for_more() -> None:
    it = poller()
    for _ in range(3):
        it.done(ReadLog, LogRead(LOG, (), 10))
        assert it.asked(ReadLog).wait_s == 10
    assert it.sent(PackagesRead) == []
    it.done(ReadLog, LogRead(LOG, (package(10),), 11))
    assert it.sent(PackagesRead)[0].next == 11


def test_a_gap_at_the_end_is_reported_so_that_the_position_advances() -> None:
    it = poller()
    it.done(ReadLog, LogRead(LOG, (), 15))
    assert it.sent(PackagesRead) == [PackagesRead(log_id=LOG, start=10, next=15, records=())]


def test_a_failing_log_is_reported_and_retried_and_so_is_its_return_without_a_new_record() -> None:
    it = poller()
    for _ in range(3):
        it.fail(ReadLog, LogUnavailable("down"))
        it.tick("again")
    unavailable = it.sent(PackagesUnavailable)
    assert [(event.start, event.obstacle, event.reason) for event in unavailable] == [
        (10, Obstacle.UNAVAILABLE, "down")
    ] * 3
    assert it.notes() == ["log.failed"]
    it.done(ReadLog, LogRead(LOG, (), 10))
    assert it.sent(PackagesRead) == [PackagesRead(log_id=LOG, start=10, next=10, records=())]


@pytest.mark.parametrize(
    ("error", "obstacle"),
    [(OffsetOutOfRange("package", 10, 20, 30), Obstacle.OUT_OF_RANGE), (LogReplaced("other"), Obstacle.REPLACED)],
)
def test_a_position_that_the_log_does_not_have_is_reported(error: CallboardError, obstacle: Obstacle) -> None:
    it = poller()
    it.fail(ReadLog, error)
    assert [event.obstacle for event in it.sent(PackagesUnavailable)] == [obstacle]
    assert not it.open
    assert not it.timers


def test_records_of_another_log_are_never_passed_on() -> None:
    it = poller()
    it.done(ReadLog, LogRead("log-2", (package(10),), 11))
    assert it.sent(PackagesRead) == []
    assert it.sent(PackagesUnavailable)[0].obstacle is Obstacle.REPLACED


def test_a_new_request_replaces_the_one_in_progress() -> None:
    it = poller()
    (old,) = it.open
    it.feed(wish(20))
    assert isinstance(old, ReadLog)
    it.open.remove(old)
    it.feed(Done(old, LogRead(LOG, (package(10),), 11)))
    assert it.sent(PackagesRead) == []
    it.done(ReadLog, LogRead(LOG, (package(20),), 21))
    assert it.sent(PackagesRead)[0].start == 20


def test_it_stops_at_once() -> None:
    it = poller()
    it.feed(Stopping())
    assert it.stopped
