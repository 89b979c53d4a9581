"""When the ticks of schedules are."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from callboard.actors.jobs.schedules.ticks import latest_ticks, tick_after
from callboard.board.jobs.schedules.crons import daily, hourly, monthly, weekly, yearly
from callboard.errors import RequestRefused
from callboard.messages.jobs.job_messages import ScheduleMessage

BERLIN = "Europe/Berlin"
"""Clocks skip 2:00 to 3:00 on 2026-03-29, and show it twice on 2026-10-25."""


def cron(*expressions: str, zone: str = BERLIN) -> ScheduleMessage:
    return ScheduleMessage(name="s", topic="a", cron=expressions, zone=zone)


def ms(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def ticks(its: ScheduleMessage, after: str, many: int) -> list[str]:
    """The next ticks, as clocks in UTC show them."""
    found, moment = [], ms(after)
    for _ in range(many):
        tick = tick_after(its, 0, moment)
        assert tick is not None
        moment = tick
        found.append(datetime.fromtimestamp(tick / 1000, UTC).strftime("%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        # a time that does not exist comes right after the gap, together with others, and with 3:00 itself
        ("30 2 * * *", "2026-03-28", ["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
        ("0,30 2 * * *", "2026-03-28T12:00", ["03-29 01:00", "03-30 00:00", "03-30 00:30"]),
        ("*/20 2-3 * * *", "2026-03-28T12:00", ["03-29 01:00", "03-29 01:20", "03-29 01:40", "03-30 00:00"]),
        ("0 */2 * * *", "2026-03-28T22:30", ["03-28 23:00", "03-29 01:00", "03-29 02:00"]),
        # a time that comes twice is a tick the first time
        ("30 2 * * *", "2026-10-24", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        ("*/30 2 * * *", "2026-10-24T12:00", ["10-25 00:00", "10-25 00:30", "10-26 01:00"]),
        ("30 2,3 * * *", "2026-10-25T00:45", ["10-25 02:30", "10-26 01:30"]),
        ("0 */2 * * *", "2026-10-24T22:30", ["10-25 00:00", "10-25 03:00"]),
        # each hour is each hour
        ("15 * * * *", "2026-03-28T23:30", ["03-29 00:15", "03-29 01:15", "03-29 02:15"]),
        ("15 * * * *", "2026-10-24T23:30", ["10-25 00:15", "10-25 01:15", "10-25 02:15"]),
        ("*/30 * * * *", "2026-10-25T00:10", ["10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00"]),
        # seconds are a sixth field, in front
        ("0 30 2 * * *", "2026-03-28T12:00", ["03-29 01:00", "03-30 00:30"]),
        ("59 59 * * * *", "2026-10-25T00:00", ["10-25 00:59", "10-25 01:59", "10-25 02:59"]),
        # and the words of cron
        ("0 12 L * *", "2026-02-01", ["02-28 11:00", "03-31 10:00"]),
        ("0 12 * * FRI#1", "2026-02-01", ["02-06 11:00", "03-06 11:00"]),
        ("0 0 29 2 *", "2026-02-01", ["02-28 23:00"]),
    ],
)
def test_a_tick_that_clocks_skip_or_show_twice_comes_once(expression: str, after: str, expected: list[str]) -> None:
    assert ticks(cron(expression), after, len(expected)) == expected


def test_a_moment_between_the_two_showings_of_a_time_comes_before_its_next_day() -> None:
    assert ticks(cron("45 2 * * *"), "2026-10-25T01:20", 1) == ["10-26 01:45"]  # it is 2:20 for the second time


def test_zones_with_gaps_of_half_an_hour_and_at_midnight_have_their_ticks() -> None:
    assert ticks(cron("15 2 * * *", zone="Australia/Lord_Howe"), "2026-10-03T12:00", 2) == [
        "10-03 15:30",
        "10-04 15:15",
    ]
    assert ticks(cron("30 0 * * *", zone="Africa/Cairo"), "2026-04-23T12:00", 2) == ["04-23 22:00", "04-24 21:30"]
    assert ticks(cron("0 * * * *", zone="Africa/Cairo"), "2026-04-23T20:30", 2) == ["04-23 21:00", "04-23 22:00"]


@pytest.mark.parametrize(
    ("zone", "begin"),
    [
        (BERLIN, "2026-03-28"),
        (BERLIN, "2026-10-24"),
        ("Australia/Lord_Howe", "2026-04-04"),
        ("Australia/Lord_Howe", "2026-10-03"),
        ("Africa/Cairo", "2026-04-23"),
        ("Africa/Cairo", "2026-10-29"),
    ],
)
@pytest.mark.parametrize("expression", ["7 * * * *", "*/17 0-3 * * *", "30 2 * * *", "0 0 * * *", "5 */3 * * *"])
def test_ticks_grow_and_do_not_depend_on_where_one_begins(zone: str, begin: str, expression: str) -> None:
    its, moment = cron(expression, zone=zone), ms(begin)
    end = moment + 3 * 86_400_000
    apart = range(moment, end, 1_800_000)
    one_after_another = []
    while (tick := tick_after(its, 0, moment)) is not None and tick <= end:
        assert tick > moment
        one_after_another.append(moment := tick)
    assert [
        tick for start in apart for tick in latest_ticks(its, 0, start, start + 1_800_000, 100)
    ] == one_after_another


@pytest.mark.proves("J76")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (hourly(5), ["01-01 00:05", "01-01 01:05"]),
        (daily(3, 30), ["01-01 03:30", "01-02 03:30"]),
        (weekly(1, 3, 30), ["01-05 03:30", "01-12 03:30"]),
        (weekly(7, 0), ["01-04 00:00", "01-11 00:00"]),
        (monthly(28, 23, 59), ["01-28 23:59", "02-28 23:59"]),
        (yearly(1, 2, 3, 4), ["01-02 03:04", "01-02 03:04"]),
        (yearly(12, 28, 0), ["12-28 00:00", "12-28 00:00"]),
    ],
)
def test_the_usual_schedules_are_cron_expressions(expression: str, expected: list[str]) -> None:
    assert ticks(cron(expression, zone="UTC"), "2026-01-01", 2) == expected


@pytest.mark.proves("J77")
def test_a_time_that_no_clock_shows_is_refused() -> None:
    with pytest.raises(RequestRefused, match="minute is 60, but should be a whole number from 0 to 59"):
        hourly(60)
    with pytest.raises(RequestRefused, match="day is 29"):
        monthly(29, 0)
    with pytest.raises(RequestRefused, match="month is 0"):
        yearly(0, 1, 0)


@pytest.mark.proves("J76", "J83")
def test_several_expressions_have_the_ticks_of_each() -> None:
    assert ticks(cron("0 8 * * *", "30 7,8 * * *", "0 8 * * *", zone="UTC"), "2026-01-01", 4) == [
        "01-01 07:30", "01-01 08:00", "01-01 08:30", "01-02 07:30",
    ]  # fmt: skip


def test_seconds_are_counted_from_the_base() -> None:
    its = ScheduleMessage(name="s", topic="a", every_ms=5000)
    assert [tick_after(its, 1700, moment) for moment in (1700, 1701, 6699, 6700)] == [6700, 6700, 6700, 11_700]
    assert latest_ticks(its, 1700, 1700, 10**9, 3) == (999_986_700, 999_991_700, 999_996_700)
    assert latest_ticks(its, 1700, 999_990_000, 10**9, 3) == (999_991_700, 999_996_700)


def test_one_time_is_one_tick() -> None:
    its = ScheduleMessage(name="s", topic="a", at_ms=7000)
    assert (tick_after(its, 6999, 6999), tick_after(its, 6999, 7000)) == (7000, None)
    assert latest_ticks(its, 6999, 6999, 10**12, 5) == (7000,)


@pytest.mark.parametrize(
    ("its", "text"),
    [
        (cron("* * *"), "no cron expression: Wrong number of fields"),
        (cron("61 * * * *"), "no cron expression: Bad minute"),
        (cron("0 0 * * *", zone="Mars/Base"), "the time zone 'Mars/Base' is unknown on this machine"),
        (cron("0 0 * * *", zone="../secret"), "is unknown"),
    ],
)
def test_what_is_unknown_is_an_error(its: ScheduleMessage, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tick_after(its, 0, 0)
