"""The blob store: shared, content-addressed storage for content too large for a record."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from callboard.logger import get_logger

CHUNK_BYTES = 1 << 20
"""The chunk size in which content is streamed."""


def log_replaced(store: str, digest: str) -> None:
    """Log that a damaged blob was replaced; blob stores call this."""
    get_logger(store=store).warning(
        "blob.replaced", digest=digest, reason="it was truncated or altered in the blob store; find out by what"
    )


class BlobInfo(NamedTuple):
    """One stored blob: ``digest`` is the sha-256 in hexadecimal, ``stored_ns`` the time of its last put."""

    digest: str
    size: int
    stored_ns: int


class BlobStore(Protocol):
    """The contract of a blob store. Every method may raise ``BlobUnavailable``."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        """Store the content under its sha-256 unless it exists; True if this call created it.

        ``chunks`` is read outside the event loop. Durable on return. An existing blob gets a new ``stored_ns``, which
        restarts the collector's grace period. Raises ``PackageCorrupt`` when the chunks do not have that digest; then
        nothing is stored.

        An existing blob that is damaged is replaced atomically and logged as ``blob.replaced``; the result is True. It
        is damaged if ``size`` is given and differs, or if the store detects, without reading large content, that
        another program wrote to it.
        """

    async def fetch(self, digest: str, spool: Path) -> Path:
        """A local file with the content: the store's own, which must not be changed, or a download in ``spool``.

        Its size is that of the stored content, but the caller must check the digest.
        Raises ``BlobMissing``.
        """

    async def exists(self, digest: str) -> bool:
        """Whether the blob exists."""

    async def delete(self, digest: str) -> bool:
        """Remove the blob; True if it existed."""

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        """Remove the blob unless its ``stored_ns`` is ``since_ns`` or later; True if this call removed it.

        For a collector, whose list is outdated by now. A concurrent put either renews the blob first, and it stays, or
        finds it removed and stores it again.
        """

    def list(self) -> AsyncIterator[BlobInfo]:
        """Every blob, sorted by digest."""

    async def close(self) -> None:
        """Release everything; idempotent."""
