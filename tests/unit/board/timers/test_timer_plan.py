"""When timers are due and where they run, over times of the test."""

from datetime import UTC, datetime

import pytest

from callboard.board.timers.timer_plan import RunOn, Timer, TimerPlan, chosen, runs_here
from callboard.messages.jobs.job_messages import ScheduleMessage
from tests.unit.board.member.views import alone, view

BEGIN = int(datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp() * 1000)
SECOND, HOUR = 1000, 3_600_000
ONCE = ScheduleMessage(name="t", topic="")
EACH_5_S = ScheduleMessage(name="t", topic="", every_ms=5 * SECOND)
HOURLY = ScheduleMessage(name="t", topic="", cron=("0 * * * *",))


def calls(timer: Timer, *steps_ms: int) -> list[int]:
    """At which of these steps of the clock the timer is due, in milliseconds since the beginning."""
    plan, now_ms, due = TimerPlan(), BEGIN, list[int]()
    plan.timers["t"] = timer
    for step_ms in (0, *steps_ms):
        now_ms += step_ms
        due += [now_ms - BEGIN for _ in plan.due(now_ms)]
    return due


@pytest.mark.proves("J84")
@pytest.mark.parametrize(
    ("timer", "steps_ms", "expected"),
    [
        (Timer(ONCE, BEGIN, BEGIN), [SECOND], [0]),
        (Timer(ONCE, BEGIN + 9, BEGIN + 9), [8, 1, 1], [9]),
        (Timer(EACH_5_S, BEGIN, BEGIN, 3), [5000] * 5, [0, 5000, 10_000]),
        (Timer(EACH_5_S, BEGIN + 5000, BEGIN), [4999, 1, 4999, 1], [5000, 10_000]),
        (Timer(EACH_5_S, BEGIN + 9000, BEGIN + 9000, 2), [9000, 5000, 5000], [9000, 14_000]),
        (Timer(HOURLY, BEGIN + HOUR, BEGIN), [HOUR - 1, 1, HOUR], [HOUR, 2 * HOUR]),
        (Timer(EACH_5_S, BEGIN + 5000, BEGIN), [23_000, 1999, 1], [23_000, 25_000]),
        (Timer(HOURLY, BEGIN + HOUR, BEGIN), [9 * HOUR + 1, HOUR - 2, 1], [9 * HOUR + 1, 10 * HOUR]),
        (Timer(EACH_5_S, BEGIN + 5000, BEGIN), [5000, -HOUR, 4999, 1], [5000, 10_000 - HOUR]),
    ],
    ids=["now", "at", "now three times", "every", "at twice", "cron", "every late", "cron late", "clock set back"],
)  # fmt: skip
def test_a_timer_is_due_at_its_times_and_once_if_it_is_late(
    timer: Timer, steps_ms: list[int], expected: list[int]
) -> None:
    assert calls(timer, *steps_ms) == expected


@pytest.mark.proves("J86")
@pytest.mark.parametrize(
    ("run_on", "leads", "follows", "changes"),
    [("all", True, True, True), ("leader", True, False, False), (("b", "x"), False, True, True), (("x",), False, False,
     False), (("leader", "single"), False, False, False)],
)  # fmt: skip
def test_a_timer_runs_where_it_is_to(run_on: RunOn, leads: bool, follows: bool, changes: bool) -> None:
    assert runs_here(run_on, "t", view("a*b")) is leads
    assert runs_here(run_on, "t", view("ab*")) is follows
    changing = view("ab*")
    changing.validity.ended = True
    assert runs_here(run_on, "t", changing) is changes
    assert runs_here(run_on, "t", None) is (run_on == "all")


@pytest.mark.proves("J86")
def test_a_single_timer_has_one_member_and_another_only_when_that_one_leaves() -> None:
    names = [f"timer-{number}" for number in range(300)]
    before = {name: chosen(name, view("a*bcd")) for name in names}
    after = {name: chosen(name, view("a*bd")) for name in names}
    assert [name for name in names if before[name] not in (after[name], "c")] == []
    assert all(40 < list(before.values()).count(each) < 110 for each in "abcd")
    here = {each: [name for name in names if runs_here("single", name, view(f"ab{each}*"))] for each in "cd"}
    assert here["d"] == [name for name in names if chosen(name, view("abd*")) == "d"]
    changing = view("a*b")
    changing.validity.ended = True
    assert not any(runs_here("single", name, its) for name in names for its in (changing, alone()))
