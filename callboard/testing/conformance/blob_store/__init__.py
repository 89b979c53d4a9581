"""Defines what a blob store is: every implementation must pass every check, including those of other packages.

A check is a function that takes a ``BlobStoreHarness``; it needs no test framework::

    for check in ALL_CHECKS:
        store, spool = unused_folder(), unused_folder()
        asyncio.run(verify(check, BlobStoreHarness(make=lambda: MyBlobStore(store), spool=spool)))
"""

from collections.abc import Awaitable, Callable

from callboard.testing.conformance.blob_store import content, damage, retention
from callboard.testing.conformance.blob_store.harness import BlobStoreHarness
from callboard.testing.conformance.verdict import checks_of, verify

Check = Callable[[BlobStoreHarness], Awaitable[None]]

ALL_CHECKS: tuple[Check, ...] = checks_of(content, damage, retention)
"""Every check. Those of the clock and of damage need a harness that can cause them; otherwise they are skipped."""

__all__ = ["ALL_CHECKS", "BlobStoreHarness", "Check", "verify"]
