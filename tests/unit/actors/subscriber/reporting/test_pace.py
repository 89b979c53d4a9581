from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from callboard.actors.core.effects import Append, FindBounds
from callboard.actors.subscriber.reporting.fleet_size import FleetSize
from callboard.actors.subscriber.reporting.pace import Pace
from callboard.messages.distribution.mailbox import AnnouncedQuery
from callboard.messages.distribution.topic_messages import State
from callboard.messages.record import NewRecord, Record
from callboard.messages.repeated import repeated
from callboard.messages.untrusted import untrusted
from callboard.testing.drivers.announcer_driver import AnnouncerDriver
from callboard.testing.drivers.subscriber_example import as_read


@cache
def by(number: int) -> NewRecord:
    instance = f"{Random(number).getrandbits(128):032x}"
    headers = ("type", "DiscoveryMessage"), ("version", "1.4"), ("producer", f"edge-{number}/{instance}")
    return NewRecord(payload=b"not read", headers=headers)


def read(numbers: Iterable[int]) -> list[Record]:
    return [as_read(by(number), number + 1, 1) for number in numbers]


def say(driver: AnnouncerDriver, others: int) -> None:
    """Each of this many others announces itself."""
    for number in range(others):
        driver.put(by(number))


def a_turn_of(driver: AnnouncerDriver, others: int) -> None:
    """Until the driver's next announcement without a change, each of this many others announces itself."""
    say(driver, others)
    driver.tick("announce")
    driver.append()


def in_a_fleet_of(others: int) -> AnnouncerDriver:
    it = AnnouncerDriver().admitted()
    for _ in range(3):
        a_turn_of(it, others)
    return it


@pytest.mark.parametrize("size", [1, 10, 100, 1000, 10_000])
def test_the_size_of_a_fleet_is_known_within_a_tenth(size: int) -> None:
    fleet = FleetSize()
    for _ in range(3):
        fleet.hear(read(range(size)))
    assert fleet.count == pytest.approx(size, rel=0.1)


def test_those_that_left_are_not_counted_for_long() -> None:
    fleet = FleetSize()
    fleet.hear(read(range(1000)))
    for second in range(3):
        fleet.turn(float(second), 1.0)
        fleet.hear(read(range(5)))
    assert fleet.count == pytest.approx(5, abs=1)


def test_what_is_repeated_or_not_trusted_is_not_counted() -> None:
    fleet, records = FleetSize(), read(range(100))
    fleet.hear(as_read(repeated(record, 200), 300, 1) for record in records)
    fleet.hear(untrusted(record, "no signature") for record in records)
    assert fleet.count == 0


def test_however_many_producers_there_seem_to_be_the_interval_has_its_bound() -> None:
    pace = Pace(10.0, Random(1))
    pace.fleet.hear(read(range(30_000)))
    assert pace.begin() == 300
    assert pace.gap_s <= 350


@pytest.mark.parametrize(("configured_s", "size", "interval_s"), [
    (1, 90, 1), (1, 1000, 10), (10, 90, 10), (10, 1000, 100), (10, 10_000, 300), (60, 500, 60), (60, 1000, 100),
    (300, 10, 300), (300, 10_000, 300),
])  # fmt: skip
def test_an_interval_grows_from_a_hundred_subscribers_on(configured_s: float, size: int, interval_s: float) -> None:
    pace = Pace(configured_s, Random(1))
    pace.fleet.hear(read(range(size)))
    assert pace.begin() == pytest.approx(interval_s, rel=0.1)


def test_in_a_fleet_of_up_to_100_announcements_are_as_often_as_configured() -> None:
    it = in_a_fleet_of(90)
    before_s = it.now.mono_s
    it.tick("announce")
    assert it.append().announce_interval_ms == 10_000
    assert it.now.mono_s - before_s == 10
    it.pass_time(1.0)
    it.hear(offset=5)
    assert it.append().offset == 5


@pytest.mark.proves("W33")
def test_a_fleet_of_a_thousand_announces_itself_ten_times_a_second_and_its_leases_are_as_much_longer() -> None:
    it = in_a_fleet_of(1000)
    before_s = it.now.mono_s
    it.tick("announce")
    assert 85 < it.now.mono_s - before_s < 105
    said = it.append()
    assert said.announce_interval_ms == pytest.approx(100_000, rel=0.05)
    assert said.lease_ms == pytest.approx(3 * said.announce_interval_ms, abs=3)


def test_a_change_in_a_fleet_of_a_thousand_is_not_announced_by_all_at_once() -> None:
    it, waits = in_a_fleet_of(1000), set[int]()
    for offset in range(5):
        say(it, 1000)
        it.pass_time(60.0)
        it.hear(offset=offset, state=State.IMPORTING)
        it.hear(offset=offset)
        assert not it.asks(Append), "all of them may have got this package"
        before_s = it.now.mono_s
        it.tick("soon")
        waits.add(int(it.now.mono_s - before_s))
        assert it.append().offset == offset
    assert len(waits) > 2
    assert max(waits) <= 10


@pytest.mark.proves("W33")
def test_changes_in_a_fleet_of_a_thousand_are_announced_every_ten_seconds_at_most() -> None:
    it = in_a_fleet_of(1000)
    for offset in range(5):
        say(it, 1000)
        before_s = it.now.mono_s
        it.hear(offset=offset)
        it.tick("soon")
        assert it.append().offset == offset
        assert it.now.mono_s - before_s > 9


def test_who_asks_and_who_stops_does_not_wait_in_a_large_fleet() -> None:
    it = in_a_fleet_of(1000)
    it.hear(offset=5)
    it.feed(AnnouncedQuery(offset=5))
    assert it.append().offset == 5
    it.hear(offset=5, state=State.STOPPED)
    assert it.append().state is State.STOPPED


def test_a_fleet_that_has_shrunk_is_as_often_announced_as_a_small_one() -> None:
    it = in_a_fleet_of(1000)
    for _ in range(3):
        a_turn_of(it, 5)
    it.tick("announce")
    assert it.append().announce_interval_ms == 10_000


def test_subscribers_that_were_there_before_it_started_do_not_count() -> None:
    it = AnnouncerDriver()
    say(it, 1000)
    it.admitted()
    it.tick("announce")
    it.append()
    it.tick("announce")
    assert it.append().announce_interval_ms == 10_000


def test_nor_do_they_when_the_topic_must_be_read_from_its_beginning_again() -> None:
    it = AnnouncerDriver()
    say(it, 1000)
    it.admitted()
    it.topic[-1] = replace(it.topic[-1], payload=b"the announcement is not where it was")
    it.tick("announce")
    it.append()
    assert it.asks(FindBounds)
    it.look()
    for _ in range(2):
        it.tick("announce")
        said = it.append()
    assert said.announce_interval_ms == 10_000
