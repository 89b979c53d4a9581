"""A blob store in memory whose calls complete at once. For tests and the simulator."""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from callboard.backends.blob_store import BlobInfo, log_replaced
from callboard.errors import BlobMissing, PackageCorrupt, PackageRefused

_DIGEST = re.compile(r"[0-9a-f]{64}")


class MemoryBlobStore:
    """See ``callboard.backends.blob_store.BlobStore``.

    Args:
        clock: the time in nanoseconds, for ``stored_ns``.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._blobs: dict[str, tuple[bytes, int]] = {}

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        """See ``BlobStore.put``; verifies every byte of an existing blob."""
        if await self.exists(digest):
            there, _ = self._blobs[digest]
            if size in (None, len(there)) and hashlib.sha256(there).hexdigest() == digest:
                self._blobs[digest] = (there, self._clock())
                return False
        damaged = digest in self._blobs
        content = b"".join(chunks)
        if hashlib.sha256(content).hexdigest() != digest:
            raise PackageCorrupt(f"the content does not have the digest {digest}; publish it again")
        self._blobs[digest] = (content, self._clock())
        if damaged:
            log_replaced("memory", digest)
        return True

    async def fetch(self, digest: str, spool: Path) -> Path:
        """See ``BlobStore.fetch``; always a download."""
        if not await self.exists(digest):
            raise BlobMissing(f"blob {digest} is not in this memory; publish the content again")
        path = spool / digest
        path.write_bytes(self._blobs[digest][0])
        return path

    async def exists(self, digest: str) -> bool:
        """See ``BlobStore.exists``."""
        if not _DIGEST.fullmatch(digest):
            raise PackageRefused(f"{digest!r} is not a sha-256 in lower-case hexadecimal; correct the package")
        return digest in self._blobs

    async def delete(self, digest: str) -> bool:
        """See ``BlobStore.delete``."""
        return await self.exists(digest) and self._blobs.pop(digest, None) is not None

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        """See ``BlobStore.delete_unless_renewed``."""
        return await self.exists(digest) and self._blobs[digest][1] < since_ns and await self.delete(digest)

    async def list(self) -> AsyncIterator[BlobInfo]:
        """See ``BlobStore.list``."""
        for digest, (content, stored_ns) in sorted(self._blobs.items()):
            yield BlobInfo(digest, len(content), stored_ns)

    def damage(self, digest: str, content: bytes) -> None:
        """Store other content under the digest."""
        self._blobs[digest] = (content, self._blobs[digest][1])

    async def close(self) -> None:
        """See ``BlobStore.close``; the blobs stay."""
