"""Defines what a store for the results of folds is: every implementation must pass every check.

A check is a function that takes a ``FoldStoreHarness``; it needs no test framework.
"""

from collections.abc import Awaitable, Callable

from callboard.testing.conformance.fold_store import changes, generations, rows, sharing
from callboard.testing.conformance.fold_store.harness import FoldStoreHarness
from callboard.testing.conformance.verdict import checks_of, verify

Check = Callable[[FoldStoreHarness], Awaitable[None]]

ALL_CHECKS: tuple[Check, ...] = checks_of(rows, changes, sharing, generations)
"""Every check."""

__all__ = ["ALL_CHECKS", "Check", "FoldStoreHarness", "verify"]
