"""Workers and their jobs in virtual time; see ``callboard.testing.simulation.jobs``.

More seeds: ``callboard simulate --jobs --seeds 2000``. A failure says what replays it.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.cli.app import app
from callboard.cli.simulate import kept
from callboard.cli.terminal.exit_codes import OK
from callboard.messages.jobs.job_messages import JOB_MESSAGES
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Unread, read
from callboard.testing.simulation.engine.shrink import shrink
from callboard.testing.simulation.jobs.plan import TROUBLES, plan
from callboard.testing.simulation.jobs.run import run, run_seed
from callboard.testing.simulation.jobs.scene import Scene
from callboard.testing.simulation.jobs.workers import Workers
from callboard.testing.simulation.planted import JOB_BUGS, hunt, planted
from tests.unit.actors.jobs.plain_jobs import PlainJobs

KEPT = Path(__file__).with_name("seeds.txt")
QUICK_BUGS = {
    "a worker forgets what it has reported": range(20),
    "there is no order": range(20),
}
"""Bugs, and seeds that find them. ``callboard simulate --jobs --planted`` hunts for all from the first seed on."""


@pytest.mark.proves("J9", "J43", "J63", "J64", "J65", "J66", "J67", "J68")
@pytest.mark.parametrize("seed", sorted({*kept(KEPT), *range(6)}))
def test_all_jobs_end_as_they_should_whatever_happens(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.violation is None, outcome.story


def test_the_plain_rules_have_the_same_jobs_in_the_end() -> None:
    with Simulation(4) as simulation:
        scene = Scene(plan(4), Workers(simulation, 4))
        scene.play()
        plain, jobs = PlainJobs(), Jobs()
        for record in scene.witness.records(0):
            message = read(record, JOB_MESSAGES, check_message)
            assert not isinstance(message, Unread)
            plain.see(record.offset, record.time_ns // 1_000_000, message)
            apply(jobs, At(record.offset, record.time_ns // 1_000_000), message)
        assert plain.jobs
        assert {job: jobs.state_of(job) for job in plain.jobs} == {job: its.state for job, its in plain.jobs.items()}


def test_the_seeds_are_of_every_sort() -> None:
    assert {plan(seed).called for seed in range(100)} == set(TROUBLES)


def test_the_same_seed_is_the_same_history() -> None:
    assert run_seed(1).trace == run_seed(1).trace != run_seed(2).trace


@pytest.mark.parametrize("bug", QUICK_BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert hunt(bug, run_seed, QUICK_BUGS[bug]).seeds


def test_a_shorter_history_is_found_and_told_with_what_replays_it() -> None:
    bug = "there is no order"
    seed = hunt(bug, run_seed, QUICK_BUGS[bug]).seeds - 1
    with planted(bug):
        found = run_seed(seed)
        shorter = shrink(run, found, runs_max=12)
    assert found.violation is not None
    assert shorter.violation is not None
    assert len(shorter.plan.acts) < len(found.plan.acts)
    assert shorter.plan.command.startswith(f"callboard simulate --jobs --seed {seed} --acts ")


def test_the_command_runs_jobs() -> None:
    done = CliRunner().invoke(app, ["simulate", "--jobs", "--seeds", "1", "--processes", "1"])
    assert done.exit_code == OK
    assert "0 seeds of 1 found something wrong" in done.output


def test_there_are_bugs_in_the_rules_and_in_the_workers() -> None:
    assert len(JOB_BUGS) >= 30
