"""Blobs as the files of a folder, which may be shared by several hosts."""

import asyncio
import fcntl
import hashlib
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

from callboard.backends.blob_store import BlobInfo, log_replaced
from callboard.backends.blob_stores.stored_file import Stored, examined, is_file, marked_ns
from callboard.backends.examination import Clock, Finding
from callboard.backends.local.access import PRIVATE_FOLDER, make_shared, open_shared, shared_mode, writers_mode
from callboard.backends.local.disk import disk_errors, sync_folder, write_all
from callboard.backends.local.file_locks import kept_by, lock_soon
from callboard.backends.local.folder_examination import examine_place
from callboard.errors import BlobMissing, BlobUnavailable, PackageCorrupt, PackageRefused

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
"""How many blobs are written or looked up at once."""

LEFTOVER_AGE_NS = 24 * 3600 * 10**9
"""A temporary file that was not written to for this long was left by a writer that died."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = "tmp"
_LOCK = ".lock"


class FolderBlobStore:
    """Blob ``abcdef...`` is the file ``ab/cdef...`` below ``root``; its modification time is ``stored_ns``.

    A put reads an existing file only if it is small, or was written to since its last put.

    Args:
        root: created with the first blob.
        clock: the time in nanoseconds, for ``stored_ns``.
    """

    def __init__(self, root: Path, clock: Callable[[], int] = time.time_ns) -> None:
        self._root = root.absolute()
        self._clock = clock
        self._threads: ThreadPoolExecutor | None = None
        self._tidied = False

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        """See ``BlobStore.put``."""
        return await self._call(self._put, self._path(digest), digest, chunks, size)

    async def fetch(self, digest: str, spool: Path) -> Path:  # noqa: ARG002 - nothing is downloaded
        """See ``BlobStore.fetch``; always the store's own file."""
        path = self._path(digest)
        if not await self._call(self._is_there, path):
            raise BlobMissing(f"blob {digest} is not in {self._root}; publish the content again with --full")
        return path

    async def exists(self, digest: str) -> bool:
        """See ``BlobStore.exists``."""
        return await self._call(self._is_there, self._path(digest))

    async def delete(self, digest: str) -> bool:
        """See ``BlobStore.delete``."""
        return await self._call(self._delete, self._path(digest))

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        """See ``BlobStore.delete_unless_renewed``."""
        return await self._call(self._delete_unless_renewed, self._path(digest), since_ns)

    async def list(self) -> AsyncIterator[BlobInfo]:
        """See ``BlobStore.list``."""
        for shard in await self._call(_shards, self._root):
            async for blob in self.list_shard(shard):
                yield blob

    async def list_shard(self, shard: str) -> AsyncIterator[BlobInfo]:
        """See ``Sharded``."""
        for blob in await self._call(_blobs, self._root / shard):
            yield blob

    async def examine(self, clock: Clock) -> Sequence[Finding]:  # noqa: ARG002 - there is no server's clock to compare
        """See ``Examinable``."""
        return await self._call(examine_place, "blob store", self._root)

    async def close(self) -> None:
        """See ``BlobStore.close``."""
        if self._threads is not None:
            threads, self._threads = self._threads, None
            await asyncio.to_thread(threads.shutdown)

    def _put(self, path: Path, digest: str, chunks: Iterable[bytes], size: int | None) -> bool:
        with self._own_errors():
            if self._renew(path, digest, size) is Stored.GOOD:
                return False
            self._make_folders(path.parent)
            descriptor, name = tempfile.mkstemp(dir=self._root / _TEMPORARY)
        temporary = Path(name)
        try:
            with self._own_errors():
                self._tidy(os.fstat(descriptor).st_mtime_ns)
            self._write(descriptor, digest, chunks)
            with self._own_errors():
                return self._place(temporary, path, digest, size)
        finally:
            os.close(descriptor)
            with suppress(OSError):  # removed by a later cleanup
                temporary.unlink(missing_ok=True)

    def _write(self, descriptor: int, digest: str, chunks: Iterable[bytes]) -> None:
        found = hashlib.sha256()
        for chunk in chunks:
            found.update(chunk)
            with self._own_errors():
                write_all(descriptor, chunk)
        if found.hexdigest() != digest:
            raise PackageCorrupt(f"the content has the digest {found.hexdigest()} instead of {digest}")
        with self._own_errors():
            os.fchmod(descriptor, shared_mode(self._root) & 0o444)
            os.utime(descriptor, ns=self._times(digest))
            os.fsync(descriptor)

    def _place(self, temporary: Path, path: Path, digest: str, size: int | None) -> bool:
        """Give the finished file its name, unless another writer came first."""
        while True:
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                found = self._renew(path, digest, size)
                if found is Stored.GOOD:
                    return False
                if found is not Stored.NOTHING:
                    self._replace(temporary, path, digest, found)
                    return True
            else:
                sync_folder(path.parent)
                return True

    def _replace(self, temporary: Path, path: Path, digest: str, found: Stored) -> None:
        with self._turn(fcntl.LOCK_SH):  # a collector may be about to remove the old file
            temporary.replace(path)
        sync_folder(path.parent)
        if found is Stored.DAMAGED:
            log_replaced(str(self._root), digest)

    def _renew(self, path: Path, digest: str, size: int | None) -> Stored:
        """The state of the existing file. If it is good, renew its ``stored_ns`` and make sure it stays."""
        found = examined(path, digest, size)
        if found is not Stored.GOOD:
            return found  # most puts are of new blobs, and need no turn
        try:
            with self._turn(fcntl.LOCK_SH):
                os.utime(path, ns=self._times(digest), follow_symlinks=False)
        except FileNotFoundError:
            return Stored.NOTHING
        except PermissionError:
            return Stored.FOREIGN
        sync_folder(path.parent)
        return Stored.GOOD

    def _times(self, digest: str) -> tuple[int, int]:
        now_ns = marked_ns(digest, self._clock())
        return now_ns, now_ns

    def _make_folders(self, shard: Path) -> None:
        self._root.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        for folder in (self._root / _TEMPORARY, shard):
            if folder.is_symlink():  # anyone who can write here could redirect our writes and cleanups
                raise BlobUnavailable(f"{folder} is a link; replace it by a folder, then try again")
            if not folder.is_dir():
                with suppress(FileExistsError):  # by another writer, since
                    make_shared(folder)
                sync_folder(self._root)

    def _tidy(self, now_ns: int) -> None:
        """Remove the leftovers of dead writers; ``now_ns`` is by the clock that stamps files, not this host's."""
        if self._tidied:
            return
        self._tidied = True
        folder = os.open(self._root / _TEMPORARY, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name in os.listdir(folder):  # noqa: PTH208 - a descriptor, not a path
                with suppress(FileNotFoundError):  # another writer's, finished since
                    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns < now_ns - LEFTOVER_AGE_NS:
                        os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)

    def _is_there(self, path: Path) -> bool:
        with self._own_errors():
            return is_file(path)

    def _delete(self, path: Path) -> bool:
        with self._own_errors():
            try:
                path.unlink()
            except FileNotFoundError:
                return False
            return True

    def _delete_unless_renewed(self, path: Path, since_ns: int) -> bool:
        with self._own_errors():
            try:
                path.stat()
                with self._turn(fcntl.LOCK_EX):
                    if path.stat().st_mtime_ns >= since_ns:
                        return False
                    path.unlink()
            except FileNotFoundError:
                return False
            return True

    @contextmanager
    def _turn(self, operation: int) -> Iterator[None]:
        """Renewals run concurrently, but never between a collector's check of a blob and its removal."""
        path = self._root / _LOCK
        descriptor = open_shared(path, writers_mode(self._root))
        try:
            if not lock_soon(descriptor, operation):
                raise BlobUnavailable(f"{kept_by(descriptor, path)}. Then try again")
            yield
        finally:
            os.close(descriptor)

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise PackageRefused(f"{digest!r} is not a sha-256 in lower-case hexadecimal; correct the package")
        return self._root / digest[:2] / digest[2:]

    def _own_errors(self) -> AbstractContextManager[None]:
        return disk_errors(BlobUnavailable, self._root)

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="blobs")
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: function(*args, **kwargs))


def _shards(root: Path) -> list[str]:
    with disk_errors(BlobUnavailable, root):
        return sorted(folder.name for folder in root.iterdir() if len(folder.name) == 2) if root.is_dir() else []


def _blobs(shard: Path) -> list[BlobInfo]:
    blobs = []
    with disk_errors(BlobUnavailable, shard):
        try:
            files = os.scandir(shard)
        except FileNotFoundError:
            return []
        with files:
            for file in files:
                digest = shard.name + file.name
                if _DIGEST.fullmatch(digest):
                    with suppress(FileNotFoundError):  # deleted since
                        status = file.stat()
                        blobs.append(BlobInfo(digest, status.st_size, status.st_mtime_ns))
    return sorted(blobs)
