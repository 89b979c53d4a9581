"""Clusters of real members in virtual time; see ``callboard.testing.simulation.topology``.

More seeds: ``callboard simulate --clusters --seeds 2000``. A failure says what replays it.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from callboard.cli.app import app
from callboard.cli.simulate import kept
from callboard.cli.terminal.exit_codes import OK
from callboard.testing.simulation.engine.shrink import shrink
from callboard.testing.simulation.planted import CLUSTER_BUGS, hunt, planted
from callboard.testing.simulation.topology.plan import CONFIGURATIONS, plan
from callboard.testing.simulation.topology.run import run, run_seed

KEPT = Path(__file__).with_name("seeds.txt")
REPLACED = [seed for seed in range(100) if plan(seed).configuration.exchanges]
QUICK_BUGS = {
    "the fence admits former leaders": range(40),
    "a replaced log is not noticed": REPLACED,
    "a change is told twice": range(40),
}
"""Bugs, and seeds that find them. ``callboard simulate --clusters --planted`` hunts for all from the first seed on."""


@pytest.mark.proves("T17", "T27", "T31", "T96")
@pytest.mark.parametrize("seed", sorted({*kept(KEPT), *range(8)}))
def test_members_agree_and_no_former_leader_writes_whatever_happens(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.violation is None, outcome.story


def test_the_seeds_are_of_every_configuration() -> None:
    assert {plan(seed).called for seed in range(100)} == set(CONFIGURATIONS)


@pytest.mark.proves("T96")
def test_the_same_seed_is_the_same_history() -> None:
    assert run_seed(1).trace == run_seed(1).trace != run_seed(2).trace


@pytest.mark.proves("T96")
@pytest.mark.parametrize("bug", QUICK_BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert hunt(bug, run_seed, QUICK_BUGS[bug]).seeds


def test_a_shorter_history_is_found_and_told_with_what_replays_it() -> None:
    bug = "a replaced log is not noticed"
    seed = hunt(bug, run_seed, QUICK_BUGS[bug]).seeds - 1
    with planted(bug):
        found = run_seed(seed)
        shorter = shrink(run, found, runs_max=2)
    assert found.violation is not None
    assert shorter.violation is not None
    assert len(shorter.plan.acts) < len(found.plan.acts)
    assert shorter.plan.command.startswith(f"callboard simulate --clusters --seed {seed} --acts ")


def test_the_command_runs_clusters() -> None:
    done = CliRunner().invoke(app, ["simulate", "--clusters", "--seeds", "1", "--processes", "1"])
    assert done.exit_code == OK
    assert "0 seeds of 1 found something wrong" in done.output


def test_there_are_bugs_in_the_fold_in_the_members_and_in_what_listeners_are_told() -> None:
    assert len(CLUSTER_BUGS) >= 35
