"""Fleets in virtual time, with faults at every effect; see ``callboard.testing.simulation``.

More seeds: ``make sim SEEDS=2000``, or ``CALLBOARD_SEEDS=1000:2000``. A failure shows the command that replays it.
"""

import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from callboard.actors.core.decision import Effect, Input, Moment, Origin, Started
from callboard.actors.publisher.queues.tail_poller import TailPoller
from callboard.cli.app import app
from callboard.cli.simulate import kept
from callboard.cli.terminal.exit_codes import FOUND, OK
from callboard.testing.simulation import Outcome, plan, run, run_seed, shrink
from callboard.testing.simulation.distribution.run import COUNTED
from callboard.testing.simulation.engine.coverage import EFFECTS, missing
from callboard.testing.simulation.engine.fates import Fault
from callboard.testing.simulation.planted import BUGS, SEEDS_MAX, hunt, planted

KEPT = Path(__file__).with_name("seeds.txt")
QUICK_BUGS = {
    "nothing but content is stored durably": range(40),
    "a failed append counts as one": range(98, 122),
    "every publisher is followed": range(40),
    "every status says imported": range(40),
    "an event says imported of what failed": range(40),
}
"""Bugs, and a few seeds that find them, for every run of the tests; ``callboard simulate --planted`` hunts for all of
them from the first seed on."""


def chosen() -> list[int]:
    first, _, end = os.environ.get("CALLBOARD_SEEDS", "0:16").partition(":")
    return sorted({*kept(KEPT), *range(int(first), int(end) if end else int(first) + 1)})


@pytest.mark.proves("F72", "W7")
@pytest.mark.parametrize("seed", chosen())
def test_every_repository_status_and_queue_agrees_with_the_log(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.violation is None, outcome.story


def test_the_same_seed_is_the_same_history() -> None:
    outcomes = [run_seed(seed) for seed in (1, 2, 1)]
    assert outcomes[0].trace == outcomes[2].trace != outcomes[1].trace


@pytest.mark.parametrize("bug", QUICK_BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    finding = hunt(bug, run_seed, QUICK_BUGS[bug])
    assert finding.seeds
    assert run_seed(finding.seeds - 1).violation is None


def test_a_violation_is_shown_with_its_replay_and_a_shorter_history() -> None:
    bug, seeds = next(iter(QUICK_BUGS.items()))
    seed = hunt(bug, run_seed, seeds).seeds - 1
    with planted(bug):
        found = run_seed(seed)
        shorter = shrink(found, runs_max=12)
        assert found.violation is not None
        assert shorter.violation is not None
        assert shorter.violation.rule == found.violation.rule
        assert size(shorter) < size(found)
        again = run(plan(seed).shortened(shorter.plan.kept, shorter.plan.odds))
    assert (again.trace, again.violation) == (shorter.trace, shorter.violation)
    assert shorter.story.endswith(f"replay with: {shorter.plan.command}")
    assert shorter.plan.command.startswith(f"callboard simulate --seed {seed} ")


@pytest.mark.parametrize(("bound", "most"), [("TURNS_MAX", 500), ("CPU_MAX_S", 0.01)])
def test_an_endless_simulation_is_ended_and_reported(bound: str, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("callboard.testing.simulation.distribution.run"), bound, most)
    violation = run_seed(0).violation
    assert violation is not None
    assert violation.rule == "nobody is busy for ever"


def test_a_handler_that_never_returns_is_ended_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("CPU_MAX_S", "HANDLER_MAX_S"):
        monkeypatch.setattr(import_module("callboard.testing.simulation.distribution.run"), bound, 0.05)
    receive = TailPoller.receive

    def never_return(poller: TailPoller, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        while isinstance(message, Started):
            pass
        return receive(poller, message, origin, now)

    monkeypatch.setattr(TailPoller, "receive", never_return)
    violation = run_seed(0).violation
    assert violation is not None
    assert violation.rule == "nobody is busy for ever"


def test_untried_faults_are_listed() -> None:
    outcome = run_seed(0)
    assert "RunHook host lost" in missing(type(outcome.met)(), outcome.counts, COUNTED)
    everything = type(outcome.met)({(effect, fault): 1 for effect in EFFECTS for fault in Fault})
    assert not [line for line in missing(everything, outcome.counts, COUNTED) if line.startswith(EFFECTS)]


def test_a_search_that_must_be_complete_fails_if_a_fault_never_happened() -> None:
    one_seed = ["simulate", "--first", "1", "--seeds", "1", "--processes", "1"]
    assert CliRunner().invoke(app, one_seed).exit_code == OK
    complete = CliRunner().invoke(app, [*one_seed, "--complete"])
    assert complete.exit_code == FOUND
    assert "never happened: " in complete.output
    assert "0 seeds of 1 found something wrong" in complete.output


def test_at_least_twenty_bugs_are_planted_under_different_names() -> None:
    assert len(BUGS) >= 20
    assert SEEDS_MAX <= 200


def size(outcome: Outcome) -> int:
    return len(outcome.plan.acts) + len(outcome.plan.odds)
