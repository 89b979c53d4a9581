"""An archive in a folder, which may be on a file system shared by several hosts."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from callboard.archive.store import Stored
from callboard.backends.local.disk import disk_errors, sync_folder
from callboard.errors import BlobMissing, BlobUnavailable

UNFINISHED = "tmp"
"""The folder of files being written. Files of a writer that died there are vacuumed like other orphans."""


class FolderArchiveStore:
    """Each file of the archive is a file below ``root``, which is created with the first file."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    @property
    def place(self) -> str:
        """See ``ArchiveStore``."""
        return str(self._root)

    async def put_new(self, name: str, content: Path | bytes) -> bool:
        """See ``ArchiveStore``."""
        return await asyncio.to_thread(self._put_new, self._root / name, content)

    async def get(self, name: str) -> bytes:
        """See ``ArchiveStore``."""
        return await asyncio.to_thread((await self._existing(name)).read_bytes)

    async def fetch(self, name: str, spool: Path) -> Path:  # noqa: ARG002 - nothing is downloaded
        """See ``ArchiveStore``; always the store's own file."""
        return await self._existing(name)

    async def list(self, prefix: str, start: str = "") -> AsyncIterator[Stored]:
        """See ``ArchiveStore``."""
        for stored in await asyncio.to_thread(self._list, prefix, start):
            yield stored

    async def delete(self, name: str) -> None:
        """See ``ArchiveStore``."""
        with disk_errors(BlobUnavailable, self._root):
            (self._root / name).unlink(missing_ok=True)

    async def close(self) -> None:
        """See ``ArchiveStore``; nothing is kept open."""

    def _put_new(self, path: Path, content: Path | bytes) -> bool:
        with disk_errors(BlobUnavailable, self._root):
            self._make_folder(path.parent)
            self._make_folder(self._root / UNFINISHED)
            descriptor, unfinished = tempfile.mkstemp(dir=self._root / UNFINISHED)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    if isinstance(content, bytes):
                        file.write(content)
                    else:
                        with content.open("rb") as source:
                            shutil.copyfileobj(source, file, 1 << 20)
                    file.flush()
                    os.fchmod(descriptor, 0o444)
                    os.fsync(descriptor)
                try:
                    path.hardlink_to(unfinished)
                except FileExistsError:
                    return False
                finally:
                    sync_folder(path.parent)  # another writer's file too, since it may have died before its sync
            finally:
                Path(unfinished).unlink(missing_ok=True)
            return True

    def _make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folder(folder.parent)
            folder.mkdir(exist_ok=True)
            sync_folder(folder.parent)

    def _list(self, prefix: str, start: str) -> Sequence[Stored]:
        folder = self._root / prefix.rpartition("/")[0]
        found = []
        with disk_errors(BlobUnavailable, self._root):
            for path in folder.rglob("*") if folder.is_dir() else ():
                name = path.relative_to(self._root).as_posix()
                if name.startswith(prefix) and name >= start and path.is_file():
                    status = path.stat()
                    found.append(Stored(name, status.st_size, status.st_mtime_ns))
        return sorted(found)

    async def _existing(self, name: str) -> Path:
        path = self._root / name
        with disk_errors(BlobUnavailable, self._root):
            try:
                path.stat()
            except FileNotFoundError:
                raise BlobMissing(f"{path} is missing; restore the archive from a copy") from None
        return path
