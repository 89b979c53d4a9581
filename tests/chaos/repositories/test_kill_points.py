"""A sample of ``make kill-points``: strikes at every n-th system call."""

from pathlib import Path

import pytest

from tests.chaos.repositories import system_calls
from tests.chaos.repositories.kill_points import FAULTS, SUBJECTS, strike_at_all

pytestmark = pytest.mark.skipif(
    system_calls.STRACE is None, reason="strace is not installed; apt install strace, or nothing is struck here"
)

EVERY = {"killed": 41, "disk full": 61, "no descriptors": 29}


@pytest.mark.proves("W22")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_clean_start_finds_everything_consistent_after_a_strike_at_any_call(
    name: str, fault: str, tmp_path: Path
) -> None:
    subject = SUBJECTS[name](tmp_path)
    tally = strike_at_all(subject, FAULTS[fault], tmp_path, EVERY[fault])
    assert tally.strikes > 0
    assert tally.problems == []
