"""The simulator is tested: bugs that can be put into the real code by name, each of which some seed has to find."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from callboard.testing.simulation.planted import commands, events, hooks, ledgers, names, packages, shells, shortening
from callboard.testing.simulation.planted.patch import Patch

SEEDS_MAX = 200
"""Within so many seeds every bug is found; see ``first_seed``."""

MODULES = (ledgers, packages, shells, names, events, hooks, commands, shortening)
BUGS: dict[str, Patch] = {bug.name: bug for module in MODULES for bug in module.BUGS}


@dataclass(frozen=True, slots=True)
class Finding:
    """After how many seeds, counted from 0 on, a bug was found, and by which rule; 0 if it was not."""

    bug: str
    seeds: int
    rule: str


def hunt(name: str, run_seed: Callable[[int], Any], seeds: Iterable[int] = range(SEEDS_MAX)) -> Finding:
    """Run seed after seed with this bug in the code until one finds it, which finds nothing without the bug.

    Args:
        name: of the bug.
        run_seed: runs a seed; its outcome has a violation, or not.
        seeds: those that are tried.
    """
    for seed in seeds:
        with planted(name):
            violation = run_seed(seed).violation
        if violation is not None and run_seed(seed).violation is None:
            return Finding(name, seed + 1, violation.rule)
    return Finding(name, 0, "")


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Have this bug in the code, in this process."""
    bug: AbstractContextManager[None] = BUGS[name].applied()
    with bug:
        yield
