"""An optional part of the contract: a blob store that several processes can list in parts, concurrently."""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from callboard.backends.blob_store import BlobInfo

SHARDS = tuple(f"{number:02x}" for number in range(256))
"""The first two digits of digests."""


@runtime_checkable
class Sharded(Protocol):
    """A store that lists the blobs of one shard without reading the others. Raises ``BlobUnavailable``."""

    def list_shard(self, shard: str) -> AsyncIterator[BlobInfo]:
        """The blobs whose digests begin with these two digits, sorted by digest."""
