"""A blob store that can be listed in parts, by several processes at once: an optional part of the contract."""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from callboard.backends.blob_store import BlobInfo

SHARDS = tuple(f"{number:02x}" for number in range(256))
"""What digests begin with."""


@runtime_checkable
class Sharded(Protocol):
    """A store that finds the blobs of a shard without looking at the others. Raises ``BlobUnavailable``."""

    def list_shard(self, shard: str) -> AsyncIterator[BlobInfo]:
        """The blobs whose digests begin with these two letters, in the order of the digests."""
        ...
