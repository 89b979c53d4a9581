from typing import Any

import pytest

from callboard.actors.core.decision import Moment
from callboard.actors.subscriber.reporting.readiness import Readiness
from callboard.messages.distribution.mailbox import Report
from callboard.messages.distribution.topic_messages import State
from callboard.testing.drivers.subscriber_example import announcement, settings

START = Moment(1_000_000 * 10**9, 100.0)


def at(seconds: float, *, clock_off_s: float = 0.0) -> Moment:
    return Moment(START.wall_ns + int((seconds + clock_off_s) * 1e9), START.mono_s + seconds)


def report(
    state: State = State.IDLE, *, caught_up: bool = True, head_s: float | None = None, attempts: int = 0
) -> Report:
    head_time_ns = 0 if head_s is None else START.wall_ns + int(head_s * 1e9)
    said = announcement(state=state, attempts=attempts)
    return Report(announcement=said, head_time_ns=head_time_ns, caught_up=caught_up)


def begun(**others: Any) -> Readiness:
    readiness = Readiness(settings(**others))
    readiness.begin(START)
    return readiness


@pytest.mark.proves("F93")
def test_it_is_ready_once_nothing_has_arrived_for_a_while() -> None:
    readiness = begun()
    readiness.observe(report(), at(1))
    assert readiness.wait_s(at(1)) == 10
    assert not readiness.check(at(10))
    assert readiness.check(at(11))
    assert readiness.reason == "idle"


@pytest.mark.proves("F93")
def test_work_in_between_restarts_the_wait() -> None:
    readiness = begun()
    readiness.observe(report(), at(1))
    readiness.observe(report(State.IMPORTING, head_s=-9999), at(9))
    readiness.observe(report(), at(10))
    assert not readiness.check(at(19))
    assert readiness.check(at(20))


def test_a_subscriber_that_has_not_read_the_log_up_to_its_start_is_not_idle() -> None:
    readiness = begun()
    readiness.observe(report(caught_up=False), at(1))
    assert not readiness.check(at(200))


@pytest.mark.proves("F93")
def test_on_a_busy_log_it_is_ready_at_the_first_young_package() -> None:
    readiness = begun()
    readiness.observe(report(State.IMPORTING, head_s=-130), at(0))
    assert not readiness.check(at(0))
    assert readiness.pending_reason() == "not yet: it imports packages older than 120 s"
    readiness.observe(report(State.IMPORTING, head_s=-110), at(1))
    assert readiness.check(at(1))
    assert readiness.reason == "latency"


@pytest.mark.proves("F93", "R3")
@pytest.mark.parametrize("state", [State.BLOCKED, State.PAUSED, State.STAGED])
def test_a_stuck_queue_does_not_keep_it_out_of_service(state: State) -> None:
    readiness = begun()
    readiness.observe(report(state), at(0))
    assert not readiness.check(at(9))
    assert readiness.check(at(10))
    assert readiness.reason == "retries"


@pytest.mark.proves("F93")
def test_a_package_that_keeps_failing_does_not_keep_it_out_of_service() -> None:
    readiness = begun()
    readiness.observe(report(State.RETRYING, attempts=10), at(0))
    assert not readiness.check(at(0))
    readiness.observe(report(State.RETRYING, attempts=11), at(1))
    assert readiness.check(at(1))
    assert readiness.reason == "retries"


@pytest.mark.proves("F93")
def test_it_is_ready_after_a_timeout_in_any_case() -> None:
    readiness = begun()
    readiness.observe(report(State.IMPORTING, head_s=-9999), at(0))
    assert readiness.wait_s(at(100)) == 200
    assert not readiness.check(at(299))
    assert readiness.check(at(300))
    assert readiness.reason == "forced"


@pytest.mark.proves("W20")
def test_a_ready_subscriber_stays_ready_and_is_never_forced_later() -> None:
    readiness = begun()
    readiness.observe(report(), at(0))
    assert readiness.check(at(10))
    readiness.observe(report(State.IMPORTING, head_s=-9999), at(11))
    assert readiness.wait_s(at(11)) is None
    assert not readiness.check(at(1000))
    assert readiness.reason == "idle"
    again = begun(ready_reason="idle")
    assert again.wait_s(at(0)) is None
    assert not again.check(at(1000))
    assert again.reason == "idle"


@pytest.mark.parametrize("day_s", [86_400.0, -86_400.0])
def test_a_wrong_clock_neither_causes_nor_prevents_readiness(day_s: float) -> None:
    readiness = begun()
    now = at(1, clock_off_s=day_s)
    readiness.observe(report(State.IMPORTING, head_s=0), now)
    assert not readiness.check(now)
    assert readiness.check(at(300, clock_off_s=day_s))
    assert readiness.reason == "forced"


def test_time_before_the_start_does_not_count() -> None:
    readiness = Readiness(settings(standby=True))
    readiness.observe(report(), at(0))
    assert readiness.wait_s(at(0)) is None
    assert not readiness.check(at(1000))
    readiness.begin(at(1000))
    assert not readiness.check(at(1009))
    assert readiness.check(at(1010))
