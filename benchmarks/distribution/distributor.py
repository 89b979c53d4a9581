"""What every peer of the benchmark is: a way to bring a tree, and then each change of it, to all copies."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from distribution.tree import Tree

AT_ONCE = 2
"""Commands that run at a time: as many as there are cores."""


@dataclass(frozen=True)
class Distributor:
    """One way to distribute a tree; several may take turns with the same tree and copies.

    Attributes:
        change: bring everywhere what changed, given the path of the changed file; returns when that was so, by
            ``time.monotonic``.
        first: bring the tree to all copies, which are empty; returns the same. None if another one does it.
    """

    tree: Tree
    copies: list[Path]
    change: Callable[[str], float]
    first: Callable[[], float] | None = None


Distributors = Callable[[Path, int, int], AbstractContextManager[dict[str, Distributor]]]
"""Makes distributors, by name, in a folder of their own, given the numbers of files and of targets."""


class Missing(Exception):
    """A program that is not installed here."""


def run(*command: str | Path, environment: Mapping[str, str] | None = None) -> None:
    """Run a command to its end; raise with what it said if it fails."""
    settings = None if environment is None else os.environ | environment
    done = subprocess.run(command, env=settings, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words} ended with {done.returncode}: {(done.stderr or done.stdout)[-1000:]}")


def for_each(command: Callable[[Path], None], copies: Iterable[Path], at_once: int = AT_ONCE) -> float:
    """Run the command for every copy, and return when the last one ended."""
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(command, copies))
    return time.monotonic()


def folders(parent: Path, count: int) -> list[Path]:
    """The places of the copies."""
    return [parent / f"copy-{number}" for number in range(count)]
