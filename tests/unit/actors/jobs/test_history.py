"""Jobs that have ended, in the order of their ends."""

from random import Random

import pytest

from callboard.actors.jobs.history import History


@pytest.mark.parametrize("seed", range(30))
def test_ended_jobs_are_listed_by_their_ends_from_any_one_on_without_those_that_are_forgotten(seed: int) -> None:
    rng, history, ends = Random(seed), History(), dict[int, int]()
    jobs = rng.sample(range(1000), 200)
    for offset in range(10, 60):
        for _ in range(rng.randrange(5) if jobs else 0):
            ends[job := jobs.pop()] = offset
            history.add(job, rng.choice([1000, 2000]))
    for job in rng.sample(sorted(ends), rng.randrange(len(ends))):
        del ends[job]
    in_order = sorted((end, job) for job, end in ends.items())

    def listed(last: int, *, newest: bool) -> list[tuple[int, int]]:
        return list(history.by_end(lambda job: ends.get(job, -1), last, newest=newest))

    assert listed(-1, newest=False) == in_order
    assert listed(-1, newest=True) == in_order[::-1]
    for last in range(5, 65):
        assert listed(last, newest=False) == [each for each in in_order if each[0] >= last]
        assert listed(last, newest=True) == [each for each in in_order[::-1] if each[0] <= last]
