"""What is kept of the board over time: samples in memory, counters that begin again, and percentiles."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from callboard.board.jobs.finding.statistics import JobFigures, JobStatistics
from callboard.messages.distribution.topic_messages import BOUNDS_S, Histogram
from callboard.web.console.plots.history import SUBSCRIBERS_MAX, Growth, History
from callboard.web.console.plots.lines import Window, gauge, percentile, percentiles, rate
from callboard.web.console.plots.samples import SERIES_MAX, Samples

START_S = 1_800_000_000.0
NO_JOBS = JobFigures(
    queued=0, active=0, succeeded=0, stopped=0, given_up=0, error=0, dropped=0, failed=0, started=0, waiting_ms=0.0,
    running_ms=0.0,
)  # fmt: skip


def board(**lags: int) -> Any:
    """A status of subscribers by their lags; each has imported a hundred times that."""
    rows = [
        SimpleNamespace(name=name, counts=True, lag_packages=lag, uncounted=0, offset=10 * lag, imported=100 * lag)
        for name, lag in lags.items()
    ]
    return SimpleNamespace(subscribers=rows)


def take(history: History, at_s: float, announced: tuple[Any, ...] = (), **lags: int) -> None:
    jobs = JobStatistics(since_ms=0, total=NO_JOBS, queues={}, topics={}, workers={})
    history.take(START_S + at_s, board(**lags), (), jobs, announced)


def known(points: list[tuple[float, float]]) -> list[float | None]:
    return [None if math.isnan(value) else value for _, value in points]


def test_samples_are_kept_every_ten_seconds_for_two_hours_and_every_two_minutes_for_two_days():
    history = History()
    for at_s in range(0, 3 * 86_400, 10):
        if history.is_due(START_S + at_s):
            take(history, at_s, a=at_s)
    end_s = START_S + 3 * 86_400
    fine = history.samples(7200).since(("lag", "a"), 0)
    coarse = history.samples(7201).since(("lag", "a"), 0)
    assert (fine[1][0] - fine[0][0], coarse[1][0] - coarse[0][0]) == (10, 120)
    assert 7200 <= end_s - fine[0][0] <= 7600
    assert 172_800 <= end_s - coarse[0][0] <= 175_000
    assert history.since_s == START_S


def test_no_sample_is_taken_before_it_is_due():
    history = History()
    take(history, 0, a=1)
    assert [history.is_due(START_S + at_s) for at_s in (0, 2, 9, 9.6, 10)] == [False, False, False, True, True]


def test_a_clock_that_was_set_back_begins_anew_instead_of_stopping():
    history = History()
    take(history, 100, a=1)
    assert history.is_due(START_S + 50)
    take(history, 50, a=2)
    assert known(history.samples(900).since(("lag", "a"), 0)) == [2]
    assert history.since_s == START_S + 50


def test_a_series_is_unknown_where_it_had_no_value_and_forgotten_when_it_has_none_at_all():
    samples = Samples(10.0, 3)
    for at_s, values in enumerate([{"a": 1}, {"a": 2, "b": 1}, {"b": 2}, {"b": 3}, {"b": 4}]):
        samples.add(at_s, {("lag", name): value for name, value in values.items()})
        if at_s == 2:
            assert known(samples.since(("lag", "a"), 0)) == [1, 2, None]
            assert known(samples.since(("lag", "b"), 0)) == [None, 1, 2]
    assert samples.since(("lag", "a"), 0) == []
    assert known(samples.since(("lag", "b"), 0)) == [2, 3, 4]


def test_memory_is_bounded_however_many_subscribers_and_names_come():
    history = History()
    take(history, 0, **{f"s{number}": number for number in range(3 * SUBSCRIBERS_MAX)})
    fine = history.samples(900)
    assert len([key for key in fine._series if key[0] == "offset"]) == SUBSCRIBERS_MAX
    assert known(fine.since(("lag", "s2999"), 0)) == [2999]
    assert fine.since(("lag", "s1"), 0) == []
    assert known(fine.since(("lag", ""), 0)) == [sum(range(3 * SUBSCRIBERS_MAX))]
    for at_s in range(10, 100, 10):
        take(history, at_s, **{f"at-{at_s}-{number}": number for number in range(SUBSCRIBERS_MAX)})
    assert len(fine._series) <= SERIES_MAX


@pytest.mark.parametrize(
    ("seen", "grown"),
    [
        ([{"a": (5,)}, {"a": (8,)}], 3),
        ([{"a": (5,)}, {"a": (2,)}], 2),  # it began again at 0
        ([{"a": (5,)}, {}, {"a": (9,)}], 0),  # it was gone, and nothing is known of the time between
        ([{}, {"a": (5,)}, {"a": (6,), "b": (70,)}], 1),  # what is new has counted before it was seen
    ],
)
def test_counters_of_many_add_up_though_some_begin_again(seen: list[dict[str, tuple[int, ...]]], grown: int):
    growth = Growth(1)
    assert [growth.grown(each) for each in seen][-1] == (grown,)


def test_growth_is_told_by_the_minute_and_not_across_a_gap():
    samples = Samples(10.0, 760)
    for at_s in [*range(0, 600, 10), *range(1200, 1500, 10)]:
        samples.add(START_S + at_s, {("imported", ""): at_s})
    line = rate("all", samples, ("imported", ""), Window(START_S, START_S + 1500))
    values = known(line.points)
    assert {value for value in values if value is not None} == {60.0}
    assert None in values
    assert values[-1] == 60.0


def test_a_line_ends_where_nothing_was_read_any_more_and_shows_short_peaks():
    samples = Samples(120.0, 1500)
    for number in range(1000):
        samples.add(START_S + 120 * number, {("lag", ""): 500 if number == 333 else 1})
    two_days = Window(START_S - 52_800, START_S + 120_000)
    line = gauge("all", samples, ("lag", ""), two_days)
    assert len(line.points) <= 151
    assert max(line.values) == 500
    later = gauge("all", samples, ("lag", ""), Window(START_S, START_S + 172_800))
    assert math.isnan(later.points[-1][1])


def test_percentiles_are_those_of_each_time_not_of_all_since_the_start():
    history, said = History(), Histogram()
    for at_s in range(0, 600, 10):
        for _ in range(10):
            said = said.with_one(0.02 if at_s < 300 else 50.0)
        take(history, at_s, (SimpleNamespace(subscriber="a", latencies=said),), a=1)
    keys = [("latency", str(place)) for place in range(len(BOUNDS_S) + 1)]
    [median, worst] = percentiles(history.samples(900), keys, (0.5, 0.99), Window(START_S, START_S + 600))
    assert (median.name, worst.name) == ("p50", "p99")
    assert 0.01 <= median.values[0] <= worst.values[0] <= 0.03
    assert 30 <= median.values[-1] <= worst.values[-1] <= 100


@pytest.mark.parametrize(
    ("counts", "share", "found"),
    [
        ([0] * 15, 0.5, math.nan), ([10, *[0] * 14], 0.5, 0.005), ([0, 0, 10, 10, *[0] * 11], 0.75, 0.2),
        ([*[0] * 14, 3], 0.5, 86_400.0), ([1, 0, 0, 1, *[0] * 11], 1.0, 0.3), ([math.nan] * 15, 0.5, math.nan),
    ],
)  # fmt: skip
def test_a_percentile_lies_within_its_bucket(counts: list[float], share: float, found: float):
    assert percentile(counts, share) == pytest.approx(found, nan_ok=True)
