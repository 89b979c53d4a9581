"""Tests the simulator: bugs that can be planted in the real code by name, each of which some seed must find."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from callboard.actors.topology.cluster_fold import forget
from callboard.testing.simulation.planted.distribution import (
    commands,
    events,
    hooks,
    ledgers,
    names,
    packages,
    shells,
    shortening,
)
from callboard.testing.simulation.planted.jobs import rules, waiting, workers
from callboard.testing.simulation.planted.patch import Patch
from callboard.testing.simulation.planted.relays import relaying
from callboard.testing.simulation.planted.topology import cluster_fold, connectors, listeners, members

SEEDS_MAX = 200
"""Seeds within which every bug must be found; see ``hunt``."""

MODULES = (ledgers, packages, shells, names, events, hooks, commands, shortening)
BUGS: dict[str, Patch] = {bug.name: bug for module in MODULES for bug in module.BUGS}
"""Bugs that fleets must show."""

CLUSTER_MODULES = (cluster_fold, members, listeners, connectors)
CLUSTER_BUGS: dict[str, Patch] = {bug.name: bug for module in CLUSTER_MODULES for bug in module.BUGS}
"""Bugs that clusters must show."""

JOB_MODULES = (rules, waiting, workers)
JOB_BUGS: dict[str, Patch] = {bug.name: bug for module in JOB_MODULES for bug in module.BUGS}
"""Bugs that workers and their jobs must show."""

RELAY_BUGS: dict[str, Patch] = {bug.name: bug for bug in relaying.BUGS}
"""Bugs that relays must show."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How many seeds it took to find a bug, and the rule that found it; 0 if it was not found."""

    bug: str
    seeds: int
    rule: str


def hunt(name: str, run_seed: Callable[[int], Any], seeds: Iterable[int] = range(SEEDS_MAX)) -> Finding:
    """Run seed after seed with this bug planted until one finds it that finds nothing without the bug.

    Args:
        name: the bug's.
        run_seed: runs a seed; returns its outcome, with or without a violation.
        seeds: the seeds to try.
    """
    for seed in seeds:
        with planted(name):
            violation = run_seed(seed).violation
        if violation is not None and run_seed(seed).violation is None:
            return Finding(name, seed + 1, violation.rule)
    return Finding(name, 0, "")


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Plant this bug in the code, in this process."""
    bug: AbstractContextManager[None] = (BUGS | CLUSTER_BUGS | JOB_BUGS | RELAY_BUGS)[name].applied()
    forget()
    try:
        with bug:
            yield
    finally:
        forget()
