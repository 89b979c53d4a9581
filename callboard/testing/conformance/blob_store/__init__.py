"""Decides what a blob store is: every implementation passes every check, also those of other packages.

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
"""Every check. Those of the clock and of damage are passed by a store whose harness cannot bring them about."""

__all__ = ["ALL_CHECKS", "BlobStoreHarness", "Check", "verify"]
