"""The harness that checks receive, and functions that they share."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.blob_store import BlobStore


@dataclass(frozen=True, slots=True)
class BlobStoreHarness:
    """An empty blob store under test. Every check gets a new harness.

    Attributes:
        make: opens a handle on the store; all handles are equal, also at the same time.
        spool: an empty folder for downloads.
        pass_time: advances the store's clock by nanoseconds, for stores whose clock can be set.
        damage: stores other content under a digest, bypassing the store; called outside the event loop.
    """

    make: Callable[[], BlobStore]
    spool: Path
    pass_time: Callable[[int], None] | None = None
    damage: Callable[[str, bytes], None] | None = None


@asynccontextmanager
async def opened(harness: BlobStoreHarness) -> AsyncIterator[BlobStore]:
    """A handle on the store, closed at the end."""
    store = harness.make()
    try:
        yield store
    finally:
        await store.close()


def digest_of(content: bytes) -> str:
    """The digest of the content."""
    return hashlib.sha256(content).hexdigest()


async def put(store: BlobStore, content: bytes) -> bool:
    """Put the content under its own digest."""
    return await store.put(digest_of(content), [content], len(content))


async def listed(store: BlobStore) -> list[str]:
    """The digests, in the order of the list."""
    return [blob.digest async for blob in store.list()]
