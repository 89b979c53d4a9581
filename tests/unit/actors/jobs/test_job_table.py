"""The table of jobs: its rows by state, as pages list them."""

from random import Random

import pytest

from callboard.actors.jobs import job_table
from callboard.actors.jobs.job_table import JobTable
from callboard.messages.jobs.job_state import JobState


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_rows_in_some_states_are_those_that_a_look_at_each_row_finds(
    seed: int, newest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, table = Random(seed), JobTable()
    monkeypatch.setattr(job_table, "CHUNK", rng.choice([1, 2, 7, 100]))
    for offset in range(1, 6):
        table.add(offset, [0] * rng.randint(1, 5), time_ms=0)
    for row in range(len(table.ids)):
        table.change(row, rng.choice(list(JobState)))
    states = set(rng.sample(list(JobState), rng.randint(0, 3)))
    after = rng.choice([-1, *table.ids, table.ids[0] - 1, table.ids[-1] + 1])

    expected = [
        row
        for row, job in enumerate(table.ids)
        if table.states[row] in states and (after < 0 or (job < after if newest else job > after))
    ]
    assert list(table.having(states, after, newest=newest)) == (expected[::-1] if newest else expected)
