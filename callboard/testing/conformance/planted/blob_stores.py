"""Broken blob stores."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from callboard.backends.blob_store import BlobInfo
from callboard.errors import BlobMissing, PackageRefused
from callboard.testing.conformance.blob_store import BlobStoreHarness
from callboard.testing.conformance.candidates.memory_log import Clock
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore


class TruncatesABlob(MemoryBlobStore):
    """Keeps the first megabyte."""

    async def fetch(self, digest: str, spool: Path) -> Path:
        path = await super().fetch(digest, spool)
        path.write_bytes(self._blobs[digest][0][: 1 << 20])
        return path


class OverwritesABlob(MemoryBlobStore):
    """Replaces a blob that is already there."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        there = self._blobs.pop(digest, None)
        await super().put(digest, chunks, size)
        return there is None


class TrustsTheDigest(MemoryBlobStore):
    """Stores content without verifying its digest."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        created = not await self.exists(digest)
        if created:
            self._blobs[digest] = (b"".join(chunks), self._clock())
        return created


class StoresHalfOfWhatFailed(MemoryBlobStore):
    """Stores what came before the error."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        came: list[bytes] = []
        if await self.exists(digest):
            return await super().put(digest, chunks, size)
        try:
            came.extend(iter(chunks))
        except Exception:
            self._blobs[digest] = (b"".join(came), self._clock())
            raise
        return await super().put(digest, came, size)


class CreatesTwice(MemoryBlobStore):
    """Checks first and writes later, so that two puts both create it."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        created = not await self.exists(digest)
        await asyncio.sleep(0)
        await super().put(digest, chunks, size)
        return created


class DropsEmptyBlobs(MemoryBlobStore):
    """Takes empty content for a missing blob."""

    async def exists(self, digest: str) -> bool:
        return await super().exists(digest) and digest != hashlib.sha256(b"").hexdigest()


class InventsABlob(MemoryBlobStore):
    """Returns an empty file for a missing blob."""

    async def fetch(self, digest: str, spool: Path) -> Path:
        try:
            return await super().fetch(digest, spool)
        except BlobMissing:
            (spool / digest).touch()
            return spool / digest


class TakesAnyName(MemoryBlobStore):
    """Looks up names that are not digests."""

    async def exists(self, digest: str) -> bool:
        try:
            return await super().exists(digest)
        except PackageRefused:
            return False


class HidesABlob(MemoryBlobStore):
    """Lists all but the last: off by one."""

    async def list(self) -> AsyncIterator[BlobInfo]:
        found = [blob async for blob in super().list()]
        for blob in found[: 19 if len(found) > 19 else None]:
            yield blob


class ListsOutOfOrder(MemoryBlobStore):
    """Lists blobs as they were put."""

    async def list(self) -> AsyncIterator[BlobInfo]:
        for digest, (content, stored_ns) in tuple(self._blobs.items()):
            yield BlobInfo(digest, len(content), stored_ns)


class ListsWrongSizes(MemoryBlobStore):
    """Lists wrong sizes."""

    async def list(self) -> AsyncIterator[BlobInfo]:
        async for blob in super().list():
            yield blob._replace(size=0)


class KeepsWhatIsDeleted(MemoryBlobStore):
    """Claims to have deleted a blob."""

    async def delete(self, digest: str) -> bool:
        return await self.exists(digest)


class DeletesTheNeighbour(MemoryBlobStore):
    """Deletes every other blob, too."""

    async def delete(self, digest: str) -> bool:
        deleted = await super().delete(digest)
        if deleted:
            self._blobs.clear()
        return deleted


class DoesNotRenew(MemoryBlobStore):
    """Lets a collector take a blob that was just put again."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        return not await self.exists(digest) and await super().put(digest, chunks, size)


class KeepsWhatIsTruncated(MemoryBlobStore):
    """Takes an existing blob for intact without comparing its size."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        if not await self.exists(digest):
            return await super().put(digest, chunks, size)
        self._blobs[digest] = (self._blobs[digest][0], self._clock())
        return False


class KeepsWhatIsAltered(MemoryBlobStore):
    """Compares the size only."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        if not await self.exists(digest) or len(self._blobs[digest][0]) != size:
            return await super().put(digest, chunks, size)
        self._blobs[digest] = (self._blobs[digest][0], self._clock())
        return False


class RemovesWhatIsDamaged(MemoryBlobStore):
    """Removes the damaged blob before it knows that the new content is correct."""

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        if await self.exists(digest) and hashlib.sha256(self._blobs[digest][0]).hexdigest() != digest:
            del self._blobs[digest]
        return await super().put(digest, chunks, size)


class CollectsWhatWasRenewed(MemoryBlobStore):
    """Does not check again before it removes a blob for a collector."""

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        return await self.delete(digest) and since_ns > 0


@contextmanager
def broken_blob_store(kind: Callable[[Callable[[], int]], MemoryBlobStore]) -> Iterator[BlobStoreHarness]:
    """A harness for a blob store of this kind."""
    clock = Clock()
    store = kind(clock)
    with tempfile.TemporaryDirectory(prefix="callboard-spool-") as spool:
        yield BlobStoreHarness(lambda: store, Path(spool), clock.pass_ns, store.damage)
