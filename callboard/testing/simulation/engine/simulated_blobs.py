"""The blob store of a simulation: content may be missing or corrupt for a while."""

from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from callboard.actors.runtime.simulated.virtual_loop import VirtualLoop
from callboard.backends.blob_store import BlobInfo
from callboard.errors import BlobMissing, BlobUnavailable
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.simulation.engine.fates import before_deed, deed


class SimulatedBlobs(MemoryBlobStore):
    """See ``callboard.backends.blob_store.BlobStore``."""

    def __init__(self, loop: VirtualLoop, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self._loop = loop
        self._spoilt: dict[str, float] = {}  # how, and until when
        self.missing = self.corrupt = 0

    @property
    def digests(self) -> set[str]:
        """Of all blobs."""
        return set(self._blobs)

    def spoil(self, how: str, seconds: float) -> None:
        """All fetches find their blob missing, or corrupt, for this time."""
        self._spoilt[how] = self._loop.time() + seconds

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        """See ``BlobStore.put``."""
        async with deed(BlobUnavailable):
            return await super().put(digest, chunks, size)

    async def fetch(self, digest: str, spool: Path) -> Path:
        """See ``BlobStore.fetch``."""
        async with deed(BlobUnavailable):
            if self._is("missing"):
                self.missing += 1
                raise BlobMissing(f"blob {digest} is not here just now")
            path = await super().fetch(digest, spool)
            if self._is("corrupt"):
                self.corrupt += 1
                path.write_bytes(path.read_bytes()[:-1] + b"?")
            return path

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        """See ``BlobStore.delete_unless_renewed``."""
        async with deed(BlobUnavailable):
            return await super().delete_unless_renewed(digest, since_ns)

    async def list(self) -> AsyncIterator[BlobInfo]:
        """See ``BlobStore.list``."""
        await before_deed(BlobUnavailable)
        for blob in [blob async for blob in super().list()]:
            yield blob

    def _is(self, how: str) -> bool:
        return self._loop.time() < self._spoilt.get(how, 0.0)
