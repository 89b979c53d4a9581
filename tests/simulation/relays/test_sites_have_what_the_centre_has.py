"""Fleets joined by relays, in virtual time; see ``callboard.testing.simulation.relays``.

More seeds: ``callboard simulate --relays --seeds 2000``. A failure says what replays it.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from callboard.cli.app import app
from callboard.cli.simulate import kept
from callboard.cli.terminal.exit_codes import OK
from callboard.testing.simulation.engine.coverage import RELAY_EFFECTS
from callboard.testing.simulation.engine.shrink import shrink
from callboard.testing.simulation.planted import RELAY_BUGS, hunt, planted
from callboard.testing.simulation.relays.plan import SHAPES, plan
from callboard.testing.simulation.relays.run import run, run_seed

KEPT = Path(__file__).with_name("seeds.txt")
QUICK_BUGS = {
    "a relay does not look what its site's log has": range(14, 15),
    "a relay stores its ledger before it appends": range(3),
    "a relay announces its own position as its site's": range(6),
}
"""Bugs, and seeds that find them. ``callboard simulate --relays --planted`` hunts for all from the first seed on."""


@pytest.mark.parametrize("seed", sorted({*kept(KEPT), *range(6)}))
def test_every_site_has_what_it_is_sent_once_and_in_order(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.violation is None, outcome.story


def test_the_seeds_are_of_every_shape() -> None:
    assert {plan(seed).shape for seed in range(100)} == set(SHAPES)


def test_the_same_seed_is_the_same_history() -> None:
    assert run_seed(1).trace == run_seed(1).trace != run_seed(2).trace


@pytest.mark.parametrize("bug", QUICK_BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert hunt(bug, run_seed, QUICK_BUGS[bug]).seeds


def test_a_shorter_history_is_found_and_told_with_what_replays_it() -> None:
    bug = "a relay announces its own position as its site's"
    seed = hunt(bug, run_seed, QUICK_BUGS[bug]).seeds - 1
    with planted(bug):
        found = run_seed(seed)
        shorter = shrink(run, found, runs_max=4)
    assert found.violation is not None
    assert shorter.violation is not None
    assert len(shorter.plan.odds) < len(found.plan.odds)
    assert shorter.plan.command.startswith(f"callboard simulate --relays --seed {seed} --")


def test_the_command_runs_relays() -> None:
    done = CliRunner().invoke(app, ["simulate", "--relays", "--seeds", "1", "--processes", "1"])
    assert done.exit_code == OK
    assert "0 seeds of 1 found something wrong" in done.output
    assert all(effect in done.output for effect in RELAY_EFFECTS)


def test_there_are_bugs_in_what_relays_append_announce_and_forward() -> None:
    assert len(RELAY_BUGS) >= 10
