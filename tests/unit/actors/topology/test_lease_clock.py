"""The lease clock: how far each record advances it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.actors.topology.lease_clock import ticked
from callboard.messages.topology.cluster_state import ClusterSettings, LogClock
from tests.unit.actors.topology.control_topic import GAP_MS, LEASE_MS, Topic

SETTINGS = ClusterSettings(cluster_id="c")


def clock_after(*times_ms: int) -> LogClock:
    clock = ticked(LogClock(), None, times_ms[0])
    for time_ms in times_ms[1:]:
        clock = ticked(clock, SETTINGS, time_ms)
    return clock


@pytest.mark.parametrize(
    ("times_ms", "now_ms"),
    [
        pytest.param([500], 0, id="it begins with the first record"),
        pytest.param([500, 600, 750], 250, id="it advances with the append times"),
        pytest.param([500, 500 + GAP_MS], GAP_MS, id="a gap counts in full up to the limit"),
        pytest.param([0, 3_600_000], GAP_MS, id="of an hour's silence no more than the limit counts"),
        pytest.param([1_000, 400, 900, 1_000], 0, id="a clock that was set back does not count"),
        pytest.param([1_000, 400, 1_200], 200, id="until it is where it was"),
        pytest.param([1_000, 90_000, 1_100, 90_001], GAP_MS + 1, id="of two clocks the one ahead counts"),
        pytest.param([-5_000, -4_000], 1_000, id="times before 1970 are times"),
    ],
)
def test_time_passes_by_the_append_times_of_the_records(times_ms: list[int], now_ms: int):
    assert clock_after(*times_ms).now_ms == now_ms


def test_a_clock_that_was_ahead_and_is_corrected_stops_the_lease_clock_for_a_lease_only():
    corrected = range(2_000, 2_000 + 3 * LEASE_MS, 1_000)
    ahead = clock_after(1_000, 9_000_000_000, *corrected)
    assert GAP_MS + LEASE_MS < ahead.now_ms < GAP_MS + 2 * LEASE_MS + 1_000


@pytest.mark.proves("T87")
@given(
    steps=st.lists(st.tuples(st.integers(0, 8_000), st.integers(-40_000, 40_000)), min_size=2, max_size=60),
)
def test_it_never_goes_back_and_gains_at_most_a_gap_for_each_jump(
    steps: list[tuple[int, int]],
):
    """Each step is real time that passes, and by how much the clock that dates the record is wrong."""
    real_ms, jumps, wrong_ms, clock = 0, 0, steps[0][1], ticked(LogClock(), None, steps[0][1])
    for passed_ms, wrong_now_ms in steps[1:]:
        real_ms += passed_ms
        jumps += wrong_now_ms > wrong_ms
        wrong_ms, before = wrong_now_ms, clock.now_ms
        clock = ticked(clock, SETTINGS, real_ms + wrong_ms)
        assert before <= clock.now_ms <= before + GAP_MS
    assert clock.now_ms <= real_ms + jumps * GAP_MS


@given(
    skews_ms=st.lists(st.integers(-60_000, 60_000), min_size=2, max_size=4),
    turns=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3_000)), min_size=1, max_size=80),
)
def test_writers_whose_clocks_differ_cannot_make_it_run_fast(skews_ms: list[int], turns: list[tuple[int, int]]):
    """However the writers take turns, it gains at most a gap for each lease that one of them was silent for."""
    real_ms, clock = 0, ticked(LogClock(), None, skews_ms[0])
    for writer, passed_ms in turns:
        real_ms += passed_ms
        clock = ticked(clock, SETTINGS, real_ms + skews_ms[writer % len(skews_ms)])
    gains = len(skews_ms) + real_ms // LEASE_MS
    assert clock.now_ms <= real_ms + gains * GAP_MS


def test_a_record_of_a_stranger_advances_the_clock():
    topic = Topic("a")
    before = topic.state.clock.now_ms
    topic.time_ms += 400
    topic.renew("stranger")
    assert topic.state.clock.now_ms == before + 401
