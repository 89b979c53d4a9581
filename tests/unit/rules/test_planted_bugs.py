"""The bugs that test the simulators fit the code that they are planted in, also after it was changed."""

import pytest

from callboard.testing.simulation.planted import BUGS, CLUSTER_BUGS, JOB_BUGS, RELAY_BUGS, planted


@pytest.mark.parametrize("bug", [*BUGS, *CLUSTER_BUGS, *JOB_BUGS, *RELAY_BUGS])
def test_a_bug_can_be_planted(bug: str) -> None:
    with planted(bug):
        pass
