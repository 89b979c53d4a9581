"""Times as people write them."""

from datetime import UTC, datetime

import pytest

from callboard.door.moments import moment_ns
from callboard.errors import RequestRefused

NOW_NS = 1_800_000_000 * 10**9


@pytest.mark.parametrize(("text", "ago_s"), [("30s", 30), ("2min", 120), ("1.5h", 5400), ("3 d", 259_200)])
def test_an_age_counts_back_from_now(text, ago_s):
    assert moment_ns(text, NOW_NS) == NOW_NS - ago_s * 10**9


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T12:00", "2026-01-31T12:00+02:00"])
def test_a_date_is_taken_as_it_is(text):
    assert moment_ns(text, NOW_NS) == int(datetime.fromisoformat(text).timestamp() * 1e9)


def test_a_time_that_names_no_zone_is_one_of_the_zone_asked_for():
    assert moment_ns("2026-01-31T12:00", NOW_NS, UTC) == moment_ns("2026-01-31T12:00+00:00", NOW_NS)
    assert moment_ns("2026-01-31T12:00+02:00", NOW_NS, UTC) == moment_ns("2026-01-31T10:00", NOW_NS, UTC)


@pytest.mark.parametrize("text", ["", "soon", "3 weeks", "-2h", "2026-13-01"])
def test_any_other_time_is_refused_with_the_valid_forms(text):
    with pytest.raises(RequestRefused, match="write an age"):
        moment_ns(text, NOW_NS)
