"""A blob store in memory: every call done at once. For tests and the simulator."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from callboard.backends.blob_store import BlobInfo
from callboard.errors import BlobMissing, PackageCorrupt


class MemoryBlobStore:
    """See ``callboard.backends.blob_store.BlobStore``.

    Args:
        clock: the time in nanoseconds, for ``stored_ns``.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._blobs: dict[str, tuple[bytes, int]] = {}

    async def put(self, digest: str, chunks: Iterable[bytes]) -> bool:
        """See ``BlobStore.put``."""
        content = b"".join(chunks)
        if hashlib.sha256(content).hexdigest() != digest:
            raise PackageCorrupt(f"the content does not have the digest {digest}")
        created = digest not in self._blobs
        self._blobs[digest] = (content, self._clock())
        return created

    async def fetch(self, digest: str, spool: Path) -> Path:
        """See ``BlobStore.fetch``; always a download."""
        if digest not in self._blobs:
            raise BlobMissing(f"blob {digest} is not in this memory; publish the content again")
        path = spool / digest
        path.write_bytes(self._blobs[digest][0])
        return path

    async def exists(self, digest: str) -> bool:
        """See ``BlobStore.exists``."""
        return digest in self._blobs

    async def delete(self, digest: str) -> bool:
        """See ``BlobStore.delete``."""
        return self._blobs.pop(digest, None) is not None

    async def list(self) -> AsyncIterator[BlobInfo]:
        """See ``BlobStore.list``."""
        for digest, (content, stored_ns) in sorted(self._blobs.items()):
            yield BlobInfo(digest, len(content), stored_ns)

    async def close(self) -> None:
        """See ``BlobStore.close``; the blobs stay."""
