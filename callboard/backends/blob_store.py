"""The blob store: shared, content-addressed, for what is too large to put in a record."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from callboard.logger import get_logger

CHUNK_BYTES = 1 << 20
"""The size in which content is streamed."""


def log_replaced(store: str, digest: str) -> None:
    """Tell that a damaged blob was replaced; for blob stores to call."""
    get_logger(store=store).warning(
        "blob.replaced", digest=digest, reason="it was truncated or altered in the blob store; find out by what"
    )


class BlobInfo(NamedTuple):
    """One stored blob: ``digest`` is the sha-256 in hexadecimal, ``stored_ns`` when it was put or last re-put."""

    digest: str
    size: int
    stored_ns: int


class BlobStore(Protocol):
    """What every blob store does. Every method may raise ``BlobUnavailable``."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        """Store the content under its sha-256 unless it is there; True if this call created it.

        ``chunks`` is read outside the event loop. Durable on return. An existing blob has its
        ``stored_ns`` renewed, so that a collector's grace period begins again. Raises ``PackageCorrupt`` when the
        chunks do not have that digest; then nothing is stored.

        An existing blob that is damaged is replaced in one step, logged as ``blob.replaced``, and the answer is True.
        It is damaged if it does not have ``size`` bytes, where that is given, or if the store sees without moving
        large content that it was written to by others.
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
