"""The blob store: shared, content-addressed, for what is too large to put in a record."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

CHUNK_BYTES = 1 << 20
"""The size in which content is streamed."""


class BlobInfo(NamedTuple):
    """One stored blob: ``digest`` is the sha-256 in hexadecimal, ``stored_ns`` when it was put or last re-put."""

    digest: str
    size: int
    stored_ns: int


class BlobStore(Protocol):
    """What every blob store does. Every method may raise ``BlobUnavailable``."""

    async def put(self, digest: str, chunks: Iterable[bytes]) -> bool:
        """Store the content under its sha-256 unless it is there; True if this call created it.

        ``chunks`` is read outside the event loop. Durable on return. An existing blob has its
        ``stored_ns`` renewed, so that a collector's grace period starts anew. Raises ``PackageCorrupt`` when the
        chunks do not have that digest; then nothing is stored.
        """
        ...

    async def fetch(self, digest: str, spool: Path) -> Path:
        """A local file with the content: the store's own, not to be changed, or a download in folder ``spool``.

        The size is that of the stored content but the digest is for the reader to check.
        Raises ``BlobMissing``.
        """
        ...

    async def exists(self, digest: str) -> bool:
        """Whether the blob is there."""
        ...

    async def delete(self, digest: str) -> bool:
        """Remove the blob; True if it was there."""
        ...

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        """Remove the blob unless its ``stored_ns`` is ``since_ns`` or later; True if it was there and was removed.

        For a collector that judged by a list, which is old by now. A put at the same time either renews the blob
        first, and then it stays, or finds it gone, and stores it anew.
        """
        ...

    def list(self) -> AsyncIterator[BlobInfo]:
        """Every blob, in the order of the digests."""
        ...

    async def close(self) -> None:
        """Release everything; idempotent."""
        ...
