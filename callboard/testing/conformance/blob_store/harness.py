"""What a check is given, and the few words that checks are written in."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.blob_store import BlobStore


@dataclass(frozen=True, slots=True)
class BlobStoreHarness:
    """One empty blob store under test. A new harness is made for every check.

    Attributes:
        make: a handle on the store; each is as good as another, also at the same time.
        spool: an empty folder for downloads.
        pass_time: moves the store's clock on by nanoseconds, for stores whose clock can be moved.
        damage: has another content lie under a digest, past the store; called outside the event loop.
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
    """The name of a content."""
    return hashlib.sha256(content).hexdigest()


async def put(store: BlobStore, content: bytes) -> bool:
    """Put the content under its right name."""
    return await store.put(digest_of(content), [content], len(content))


async def listed(store: BlobStore) -> list[str]:
    """The digests, as they are listed."""
    return [blob.digest async for blob in store.list()]
