from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.actors.core.backoff import Backoff

BACKOFF = Backoff(first_s=0.1, max_s=5.0)


def test_without_jitter_the_delay_doubles_up_to_its_maximum() -> None:
    backoff = Backoff(first_s=1.0, max_s=5.0, jitter=0.0)
    assert [backoff.delay_s(attempt, Random(1)) for attempt in range(1, 6)] == [1.0, 2.0, 4.0, 5.0, 5.0]


@given(attempt=st.integers(1, 10**9), seed=st.integers(0, 1000))
def test_the_delay_stays_within_its_spread_and_never_passes_the_maximum(attempt: int, seed: int) -> None:
    wanted = min(0.1 * 2 ** min(attempt - 1, 20), 5.0)
    delay = BACKOFF.delay_s(attempt, Random(seed))
    assert wanted * 0.8 <= delay <= min(wanted * 1.2, 5.0) + 1e-9


def test_the_same_source_of_randomness_gives_the_same_delay() -> None:
    assert BACKOFF.delay_s(3, Random(7)) == pytest.approx(BACKOFF.delay_s(3, Random(7)))
    assert BACKOFF.delay_s(3, Random(7)) != BACKOFF.delay_s(3, Random(8))
