"""A sample of what ``make kill-points`` does: strikes at one system call in so many."""

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
def test_whatever_call_is_struck_a_clean_start_finds_all_consistent(name: str, fault: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name](tmp_path)
    tally = strike_at_all(subject, FAULTS[fault], tmp_path, EVERY[fault])
    assert tally.strikes > 0
    assert tally.problems == []
