"""``callboard simulate``: simulates fleets, clusters, jobs, or relays in virtual time; a seed decides all failures."""

import os
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic

import typer

from callboard.cli.terminal import output
from callboard.cli.terminal.exit_codes import FOUND
from callboard.errors import RequestRefused
from callboard.testing.simulation.distribution import plan as fleet_plans
from callboard.testing.simulation.distribution import run as fleets
from callboard.testing.simulation.engine.campaign import campaign
from callboard.testing.simulation.engine.coverage import EFFECTS, RELAY_EFFECTS, missing, table
from callboard.testing.simulation.engine.fates import Fault
from callboard.testing.simulation.engine.outcome import Outcome, P
from callboard.testing.simulation.engine.shrink import shrink
from callboard.testing.simulation.jobs import plan as job_plans
from callboard.testing.simulation.jobs import run as job_runs
from callboard.testing.simulation.planted import BUGS, CLUSTER_BUGS, JOB_BUGS, RELAY_BUGS, SEEDS_MAX, Finding, hunt
from callboard.testing.simulation.relays import plan as relay_plans
from callboard.testing.simulation.relays import run as relay_runs
from callboard.testing.simulation.topology import plan as cluster_plans
from callboard.testing.simulation.topology import run as cluster_runs
from callboard.units import count

NOTHING = "none"
"""The empty list of acts or faults."""

SHOWN_S = 10.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True, slots=True)
class Simulated(Generic[P]):
    """What is simulated: how a seed is planned and run, what is counted, and which bugs can be planted."""

    plan: Callable[[int], P]
    run: Callable[[P], Outcome[P]]
    run_seed: Callable[[int], Outcome[P]]
    counted: Iterable[str]
    effects: tuple[str, ...]
    bugs: Collection[str]


FLEETS = Simulated(fleet_plans.plan, fleets.run, fleets.run_seed, fleets.COUNTED, EFFECTS, BUGS)
CLUSTERS = Simulated(
    cluster_plans.plan, cluster_runs.run, cluster_runs.run_seed, cluster_runs.COUNTED, (), CLUSTER_BUGS
)
JOBS = Simulated(job_plans.plan, job_runs.run, job_runs.run_seed, job_runs.COUNTED, (), JOB_BUGS)
RELAYS = Simulated(relay_plans.plan, relay_runs.run, relay_runs.run_seed, relay_runs.COUNTED, RELAY_EFFECTS, RELAY_BUGS)


def simulate(
    seed: Annotated[int | None, typer.Option(help="Replay only this seed.")] = None,
    acts: Annotated[str, typer.Option(metavar="N,N,...", help="With --seed: only these acts.")] = "",
    faults: Annotated[str, typer.Option(metavar="NAME,...", help="With --seed: only these faults.")] = "",
    shorten: Annotated[bool, typer.Option("--shorten", help="With --seed: also look for a shorter history.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds to run.")] = 100,
    first: Annotated[int, typer.Option(help="The first seed.")] = 0,
    again: Annotated[Path | None, typer.Option(help="A file of seeds to run first, one per line.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Add failing seeds to that file.")] = False,
    complete: Annotated[bool, typer.Option("--complete", help="Fail if a fault never met an effect.")] = False,
    planted: Annotated[bool, typer.Option("--planted", help="Look for planted bugs instead.")] = False,
    clusters: Annotated[bool, typer.Option("--clusters", help="Simulate clusters of members instead.")] = False,
    jobs: Annotated[bool, typer.Option("--jobs", help="Simulate workers and their jobs instead.")] = False,
    relays: Annotated[bool, typer.Option("--relays", help="Simulate fleets joined by relays instead.")] = False,
    processes: Annotated[int, typer.Option(min=1, help="Seeds run in parallel.")] = os.cpu_count() or 1,
) -> None:
    """Simulate fleets, clusters, workers, or relays under faults, and compare everything with a simple model."""
    simulated: Simulated[Any] = RELAYS if relays else JOBS if jobs else CLUSTERS if clusters else FLEETS
    if planted:
        _show_planted(simulated, processes)
    elif seed is not None:
        _replay(simulated, _shortened(simulated.plan(seed), acts, faults), shorten)
    else:
        numbers = [*kept(again), *range(first, first + seeds)]
        _search(simulated, numbers, again if keep else None, complete, processes)


def _shortened(whole: P, acts: str, faults: str) -> P:
    try:
        numbers = [int(number) for number in _words(acts)] if acts else None
        names = [Fault(name) for name in _words(faults)] if faults else None
    except ValueError as error:
        raise RequestRefused(f"{error}; acts are numbers, and the faults are {', '.join(Fault)}") from error
    last = len(whole.acts) - 1
    if strays := [number for number in numbers or () if not 0 <= number <= last]:
        raise RequestRefused(f"seed {whole.seed} has no act {strays[0]}; choose from 0 to {last}", code="out_of_range")
    return whole.shortened(numbers, names)


def _words(text: str) -> list[str]:
    return [] if text == NOTHING else [word.strip() for word in text.split(",")]


def _replay(simulated: Simulated[P], chosen: P, shorten: bool) -> None:
    outcome = simulated.run(chosen)
    if outcome.violation is not None and shorten:
        outcome = shrink(simulated.run, outcome, output.say)
        output.show(*map(str, outcome.plan.acts))
    if outcome.violation is None:
        output.show(f"nothing is wrong in {outcome.steps} steps; trace {outcome.trace}")
        return
    output.show(*outcome.story.splitlines())
    raise typer.Exit(FOUND)


def _search(simulated: Simulated[P], seeds: list[int], keep: Path | None, complete: bool, processes: int) -> None:
    total = campaign(simulated.run_seed, seeds, _progress(len(seeds)), processes)
    for line in table(total.met, total.performed, total.counts, simulated.counted, simulated.effects):
        output.show(line)
    output.show(total.speed)
    for outcome in total.failed:
        output.show(*outcome.story.splitlines())
        if keep is not None and outcome.plan.seed not in kept(keep):
            with keep.open("a") as file:
                file.write(f"{outcome.plan.seed}  # {outcome.violation.rule if outcome.violation else ''}\n")
    untried = missing(total.met, total.counts, simulated.counted, simulated.effects) if complete else []
    if untried:
        output.show(f"never happened: {', '.join(untried)}")
    output.show(f"{count(len(total.failed), 'seed')} of {total.seeds} found something wrong")
    if total.failed or untried:
        raise typer.Exit(FOUND)


def _progress(count: int) -> Callable[[Outcome[P]], None]:
    done, failed, shown_s = 0, 0, time.monotonic()

    def show(outcome: Outcome[P]) -> None:
        nonlocal done, failed, shown_s
        done, failed = done + 1, failed + (outcome.violation is not None)
        if outcome.violation is not None:
            output.say(f"seed {outcome.plan.seed}: {outcome.violation}")
        if time.monotonic() - shown_s > SHOWN_S:
            shown_s = time.monotonic()
            output.say(f"{done} of {count} seeds, {failed} failed")

    return show


def _show_planted(simulated: Simulated[Any], processes: int) -> None:
    bugs = simulated.bugs
    with ProcessPoolExecutor(processes) as pool:
        findings: Iterable[Finding] = pool.map(partial(hunt, run_seed=simulated.run_seed), bugs)
        missed = 0
        for finding in findings:
            missed += not finding.seeds
            after = f"{count(finding.seeds, 'seed'):>9}" if finding.seeds else "not found"
            output.show(f"{after}  {finding.bug}" + (f"  ({finding.rule})" if finding.rule else ""))
    output.show(f"{len(bugs) - missed} of {len(bugs)} bugs found, each within {SEEDS_MAX} seeds")
    if missed:
        raise typer.Exit(FOUND)


def kept(file: Path | None) -> list[int]:
    """The seeds in the file; ``#`` starts a comment."""
    if file is None or not file.exists():
        return []
    return [int(line.split("#")[0]) for line in file.read_text().splitlines() if line.split("#")[0].strip()]
