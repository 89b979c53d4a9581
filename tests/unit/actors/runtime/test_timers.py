import pytest

from callboard.actors.runtime.timers import WAKE_S_MAX, Timers


def fired(timers: Timers, now_s: float) -> list[str]:
    return [key for key, deadline_s in timers.due(now_s) if timers.take(key, deadline_s)]


def test_a_timer_expires_at_its_time_and_not_before() -> None:
    timers = Timers()
    timers.set("a", 2, now_s=10)
    assert fired(timers, 11.9) == []
    assert fired(timers, 12) == ["a"]
    assert fired(timers, 13) == []


def test_timers_due_together_expire_in_the_order_of_their_deadlines() -> None:
    timers = Timers()
    timers.set("late", 3, now_s=0)
    timers.set("early", 1, now_s=0)
    assert fired(timers, 5) == ["early", "late"]


def test_a_restarted_timer_forgets_its_first_deadline() -> None:
    timers = Timers()
    timers.set("a", 1, now_s=0)
    timers.set("a", 5, now_s=0.5)
    assert fired(timers, 1) == []
    assert fired(timers, 5.5) == ["a"]


def test_a_cancelled_timer_never_expires() -> None:
    timers = Timers()
    timers.set("a", 1, now_s=0)
    timers.set("a", -1, now_s=0)
    assert fired(timers, 9) == []


def test_a_timer_cancelled_by_one_that_expired_with_it_does_not_expire() -> None:
    timers = Timers()
    timers.set("first", 1, now_s=0)
    timers.set("second", 2, now_s=0)
    due = timers.due(3)
    assert timers.take(*due[0])
    timers.set("second", -1, now_s=3)
    assert not timers.take(*due[1])


def test_a_timer_restarted_at_its_end_waits_for_the_next_wake_up() -> None:
    timers = Timers()
    timers.set("a", 0, now_s=1)
    due = timers.due(1)
    assert timers.take(*due[0])
    timers.set("a", 0, now_s=1)
    assert len(due) == 1


def test_a_wake_up_is_requested_once_and_again_only_for_an_earlier_timer() -> None:
    timers = Timers()
    assert timers.next_wake(0) is None
    timers.set("a", 10, now_s=0)
    assert timers.next_wake(0) == 10
    assert timers.next_wake(1) is None
    timers.set("a", 20, now_s=1)
    assert timers.next_wake(1) is None
    timers.set("b", 2, now_s=1)
    assert timers.next_wake(1) == 2


def test_a_stale_wake_up_requests_the_next_one() -> None:
    timers = Timers()
    timers.set("a", 10, now_s=0)
    timers.next_wake(0)
    timers.set("a", 20, now_s=0)
    assert fired(timers, 10) == []
    assert timers.next_wake(10) == 10


def test_an_early_wake_up_requests_another() -> None:
    timers = Timers()
    timers.set("a", 10, now_s=0)
    timers.next_wake(0)
    assert fired(timers, 9.5) == []
    assert timers.next_wake(9.5) == 0.5
    assert fired(timers, 10) == ["a"]


def test_a_very_long_timer_is_waited_for_in_parts() -> None:
    timers = Timers()
    timers.set("long", 2.5 * WAKE_S_MAX, now_s=0)
    assert timers.next_wake(0) == WAKE_S_MAX
    assert timers.next_wake(1) is None
    assert fired(timers, WAKE_S_MAX) == []
    assert timers.next_wake(WAKE_S_MAX) == WAKE_S_MAX
    assert fired(timers, 2 * WAKE_S_MAX) == []
    assert timers.next_wake(2 * WAKE_S_MAX) == WAKE_S_MAX / 2
    assert fired(timers, 2.5 * WAKE_S_MAX) == ["long"]


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), float("-inf")])
def test_a_time_that_is_not_finite_is_an_error(seconds: float) -> None:
    with pytest.raises(ValueError, match="timer 'a' was set to"):
        Timers().set("a", seconds, now_s=0)


def test_a_late_wake_up_is_still_waited_for() -> None:
    timers = Timers()
    timers.set("long", 10, now_s=0)
    timers.next_wake(0)
    timers.set("short", 2, now_s=0)
    timers.next_wake(0)
    assert fired(timers, 11) == ["short", "long"]
    timers.set("next", 3, now_s=11)
    assert timers.next_wake(11) is None
    assert fired(timers, 12) == []
    assert timers.next_wake(12) == 2


def test_a_repeated_short_timer_requests_no_further_wake_up_for_a_long_one() -> None:
    timers = Timers()
    timers.set("long", 1000, now_s=0)
    asked = [timers.next_wake(0)]
    for now_s in range(100):
        timers.set("short", 1, now_s)
        asked += [timers.next_wake(now_s)]
        assert fired(timers, now_s + 1) == ["short"]
        asked += [timers.next_wake(now_s + 1)]
    assert [seconds for seconds in asked if seconds is not None] == [1000] + 100 * [1]


def test_only_a_timer_that_is_set_or_due_calls_for_another_look() -> None:
    timers = Timers()
    assert not timers.changed
    timers.set("a", 5, 0)
    assert timers.changed
    timers.next_wake(0)
    assert not timers.changed
    timers.due(5)
    assert timers.changed
