"""The examples in virtual time: whatever fails when, their invariants hold; and planted bugs are found."""

from collections.abc import Callable

import pytest

from tests.examples import planted_bugs
from tests.examples.planted_bugs import BUGS
from tests.examples.worlds import counted, told

SEEDS, BLOCKS = 10, 6
PATIENCE = 200


@pytest.mark.proves("A14", "A17", "A19", "A21", "A27")
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("world", ["bank", "stock"])
def test_no_fault_breaks_the_invariants_of_an_example(world: str, block: int) -> None:
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        assert not told(world, seed)


@pytest.mark.proves("A30")
def test_stores_are_away_and_set_back_among_other_faults() -> None:
    count = counted("bank", 40)
    assert all(count[each] for each in ("store away", "store set back", "log replaced", "lost", "suspended")), count


@pytest.mark.proves("A18", "A25", "A30")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found(bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    seeds = planted_bugs.SEEDS.get(bug, 0), *range(PATIENCE)
    assert any(told(BUGS[bug], seed) for seed in seeds), "no seed finds it"
