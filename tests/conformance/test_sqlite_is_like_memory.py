"""In any history of operations, a log in SQLite files answers like the log in memory."""

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import Phase, settings

from callboard.testing.conformance.candidates.logs import sqlite_log
from callboard.testing.conformance.log.like_memory import compare_histories
from callboard.testing.conformance.planted import logs as planted


def test_random_histories_match_the_log_in_memory() -> None:
    compare_histories(sqlite_log, examples=50)


@pytest.fixture
def _the_first_is_enough() -> Iterator[None]:
    """No search for the shortest history: it takes ten times as long as finding one."""
    before = settings.get_current_profile_name()
    settings.register_profile("first", phases=[Phase.generate])
    settings.load_profile("first")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("_the_first_is_enough")
@pytest.mark.parametrize("kind", [planted.ReordersABatch, planted.JumpsInSilence, planted.TrimsOneTooMany])
def test_a_history_that_shows_a_broken_log_is_found(kind: type) -> None:
    with pytest.raises(AssertionError):
        compare_histories(partial(planted.broken_log, kind), examples=300)
