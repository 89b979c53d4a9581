"""Defines what a repository is: every implementation must pass every check, including those of other packages.

A check is a function that takes a ``RepositoryHarness``; it needs no test framework::

    for check in ALL_CHECKS:
        folder = unused_folder()
        asyncio.run(verify(check, RepositoryHarness(make=lambda: MyRepository(folder))))
"""

from collections.abc import Awaitable, Callable

from callboard.testing.conformance.repository import (
    atomicity,
    delete,
    export,
    fencing,
    keep,
    ledger,
    occupied,
    opening,
    prune,
    put,
    replace,
)
from callboard.testing.conformance.repository.harness import RepositoryHarness
from callboard.testing.conformance.verdict import checks_of, verify

Check = Callable[[RepositoryHarness], Awaitable[None]]

ALL_CHECKS: tuple[Check, ...] = checks_of(
    opening, occupied, ledger, put, keep, replace, delete, prune, atomicity, export, fencing
)
"""Every check."""

__all__ = ["ALL_CHECKS", "Check", "RepositoryHarness", "verify"]
