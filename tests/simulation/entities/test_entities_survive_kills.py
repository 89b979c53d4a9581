"""Entities in simulated services: with all faults, every command counts once, and planted bugs are found."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from callboard.actors.entities.entity import Entity
from callboard.testing.actors import View, simulate
from callboard.testing.actors.story import Command
from tests.unit.actors.entities.bank import Account, Close, Move
from tests.unit.actors.entities.planted_bugs import BUGS

BLOCKS, SEEDS = 6, 25


def story(random: Random) -> Iterator[Command]:
    for _ in range(40):
        command = Close() if random.random() < 0.1 else Move(cents=random.randint(-5, 5))
        yield Account, random.choice("ab"), command


def never_overdrawn(view: View) -> None:
    assert all(account.cents >= 0 for account in view.states(Account).values())


def told(entity: type[Entity], seed: int, invariant: Callable[[View], None] = lambda _: None) -> str:
    """The failure of a seed; nothing if there is none."""
    try:
        simulate(entities=[entity], story=story, invariant=invariant, seed=seed)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.proves("A2", "A12")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_command_counts_once_and_all_services_agree(block: int) -> None:
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        assert not told(Account, seed, never_overdrawn)


@pytest.mark.proves("A30")
def test_all_kinds_of_faults_happen() -> None:
    count = simulate(entities=[Account], story=story, seeds=SEEDS)
    assert count["commands"] == 40 * SEEDS
    troubles = ("outage", "cut off", "lost", "suspended", "clock set", "log replaced")
    assert all(count[each] for each in troubles), count
    assert len(count) > len(troubles) + 4, count


@pytest.mark.proves("A30")
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found_and_its_seed_fails_in_the_same_way_again(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    seed, failure = next(((seed, found) for seed in range(200) if (found := told(Account, seed))), (-1, ""))
    assert f"run it again with seed={seed}" in failure
    assert told(Account, seed) == failure
