"""``callboard simulate``: simulates whole fleets in virtual time; a seed decides all failures."""

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from callboard.cli.terminal import output
from callboard.cli.terminal.exit_codes import FOUND
from callboard.errors import RequestRefused
from callboard.testing.simulation import Outcome, Plan, campaign, plan, run, run_seed, shrink
from callboard.testing.simulation.distribution.run import COUNTED
from callboard.testing.simulation.engine.coverage import missing, table
from callboard.testing.simulation.engine.fates import Fault
from callboard.testing.simulation.planted import BUGS, SEEDS_MAX, Finding, hunt

NOTHING = "none"
"""The empty list of acts or faults."""

SHOWN_S = 10.0
"""Seconds between two lines of progress."""


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
    processes: Annotated[int, typer.Option(min=1, help="Seeds run in parallel.")] = os.cpu_count() or 1,
) -> None:
    """Simulate fleets under faults, and compare every repository, status and queue with a simple model."""
    if planted:
        _show_planted(processes)
    elif seed is not None:
        _replay(_shortened(plan(seed), acts, faults), shorten)
    else:
        _search([*_kept(again), *range(first, first + seeds)], again if keep else None, complete, processes)


def _shortened(whole: Plan, acts: str, faults: str) -> Plan:
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


def _replay(chosen: Plan, shorten: bool) -> None:
    outcome = run(chosen)
    if outcome.violation is not None and shorten:
        outcome = shrink(outcome, output.say)
        output.show(*map(str, outcome.plan.acts))
    if outcome.violation is None:
        output.show(f"nothing is wrong in {outcome.steps} steps; trace {outcome.trace}")
        return
    output.show(*outcome.story.splitlines())
    raise typer.Exit(FOUND)


def _search(seeds: list[int], keep: Path | None, complete: bool, processes: int) -> None:
    total = campaign(seeds, _progress(len(seeds)), processes)
    for line in table(total.met, total.performed, total.counts, COUNTED):
        output.show(line)
    output.show(total.speed)
    for outcome in total.failed:
        output.show(*outcome.story.splitlines())
        if keep is not None and outcome.plan.seed not in _kept(keep):
            with keep.open("a") as file:
                file.write(f"{outcome.plan.seed}  # {outcome.violation.rule if outcome.violation else ''}\n")
    untried = missing(total.met, total.counts, COUNTED) if complete else []
    if untried:
        output.show(f"never happened: {', '.join(untried)}")
    output.show(f"{output.count(len(total.failed), 'seed')} of {total.seeds} found something wrong")
    if total.failed or untried:
        raise typer.Exit(FOUND)


def _progress(count: int) -> Callable[[Outcome], None]:
    done, failed, shown_s = 0, 0, time.monotonic()

    def show(outcome: Outcome) -> None:
        nonlocal done, failed, shown_s
        done, failed = done + 1, failed + (outcome.violation is not None)
        if outcome.violation is not None:
            output.say(f"seed {outcome.plan.seed}: {outcome.violation}")
        if time.monotonic() - shown_s > SHOWN_S:
            shown_s = time.monotonic()
            output.say(f"{done} of {count} seeds, {failed} failed")

    return show


def _show_planted(processes: int) -> None:
    with ProcessPoolExecutor(processes) as pool:
        findings: Iterable[Finding] = pool.map(_hunt, BUGS)
        missed = 0
        for finding in findings:
            missed += not finding.seeds
            after = f"{output.count(finding.seeds, 'seed'):>9}" if finding.seeds else "not found"
            output.show(f"{after}  {finding.bug}" + (f"  ({finding.rule})" if finding.rule else ""))
    output.show(f"{len(BUGS) - missed} of {len(BUGS)} bugs found, each within {SEEDS_MAX} seeds")
    if missed:
        raise typer.Exit(FOUND)


def _hunt(name: str) -> Finding:
    return hunt(name, run_seed)


def _kept(file: Path | None) -> list[int]:
    """The seeds in the file; ``#`` starts a comment."""
    if file is None or not file.exists():
        return []
    return [int(line.split("#")[0]) for line in file.read_text().splitlines() if line.split("#")[0].strip()]
