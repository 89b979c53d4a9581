"""Whatever is done to it, a log in SQLite files says what the log in memory says."""

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import Phase, settings

from callboard.testing.conformance.candidates.logs import sqlite_log
from callboard.testing.conformance.log.like_memory import compare_histories
from callboard.testing.conformance.planted import logs as planted


def test_random_histories_end_alike() -> None:
    compare_histories(sqlite_log, examples=50)


@pytest.fixture
def _the_first_is_enough() -> Iterator[None]:
    """No search for the shortest history: that takes ten times as long as to find one."""
    before = settings.get_current_profile_name()
    settings.register_profile("first", phases=[Phase.generate])
    settings.load_profile("first")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("_the_first_is_enough")
@pytest.mark.parametrize("kind", [planted.ReordersABatch, planted.JumpsInSilence, planted.TrimsOneTooMany])
def test_a_history_on_which_a_broken_log_disagrees_is_found(kind: type) -> None:
    with pytest.raises(AssertionError):
        compare_histories(partial(planted.broken_log, kind), examples=300)
