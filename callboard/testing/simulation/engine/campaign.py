"""Runs many seeds, on as many processes as the machine has cores, and sums up the outcomes."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Generic

from callboard.testing.simulation.engine.fates import Fault
from callboard.testing.simulation.engine.outcome import Outcome, P


@dataclass(slots=True)
class Campaign(Generic[P]):
    """The sum of all outcomes."""

    seeds: int = 0
    steps: int = 0
    fleet_s: float = 0.0
    """Virtual seconds simulated."""
    took_s: float = 0.0
    met: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    performed: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome[P]] = field(default_factory=list)

    def add(self, outcome: Outcome[P]) -> None:
        """Add an outcome."""
        self.seeds += 1
        self.steps += outcome.steps
        self.fleet_s += outcome.virtual_s
        self.met.update(outcome.met)
        self.performed.update(outcome.performed)
        self.counts.update(outcome.counts)
        if outcome.violation is not None:
            self.failed.append(outcome)

    @property
    def speed(self) -> str:
        """The speed of the run."""
        took_s = max(self.took_s, 1e-9)
        return (
            f"{self.seeds} seeds in {self.took_s:.0f} s: {self.steps / took_s:,.0f} steps/s, "
            f"{self.fleet_s / 3600 / took_s * 60:.1f} fleet-hours a minute"
        )


def campaign(
    run_seed: Callable[[int], Outcome[P]],
    seeds: Iterable[int],
    report: Callable[[Outcome[P]], None] = lambda _: None,
    processes: int | None = None,
) -> Campaign[P]:
    """Run all seeds.

    Args:
        run_seed: runs the plan of a seed; importable, as it is sent to the processes.
        seeds: the seeds, run one after the other in each process.
        report: called with every outcome as it comes.
        processes: their number; the number of cores if not given. With 1, this process runs the seeds.
    """
    total, began_s = Campaign[P](), time.perf_counter()
    count = processes or os.cpu_count() or 1

    def take(outcome: Outcome[P]) -> None:
        total.add(outcome)
        total.took_s = time.perf_counter() - began_s
        report(outcome)

    if count == 1:
        for seed in seeds:
            take(run_seed(seed))
        return total
    with ProcessPoolExecutor(count) as pool:
        for outcome in pool.map(run_seed, seeds, chunksize=4):
            take(outcome)
    return total
