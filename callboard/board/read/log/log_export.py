"""Exports from the log: the content of a package, or records as lines of JSON."""

import asyncio
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from callboard.backends.blob_store import BlobStore
from callboard.backends.local.disk import disk_errors, replacing
from callboard.backends.log import Log
from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.paths import RESERVED
from callboard.backends.repository import Entry, EntryKind, Keep, Operation, Put
from callboard.board.read.log.log_records import opened, plain_record, record_at
from callboard.board.read.log.log_search import RecordFilter, matching
from callboard.content.ship import receive
from callboard.errors import CallboardError, PackageCorrupt, RepositoryUnavailable, RequestRefused
from callboard.escaping import escaped
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

TAR = ".tar"


async def export_content(log: Log, blobs: BlobStore, topic: str, offset: int, target: Path, spool: Path) -> int:
    """Write the content of a package to a new folder, or to a file that ends in .tar; returns the number of entries.

    Raises ``RequestRefused`` for a target that exists, and for a record without content.
    """
    record = await record_at(log, topic, offset)
    event = opened(record)
    if isinstance(event, CallboardError):
        raise event
    if not isinstance(event, PackageMessage) or event.kind is not Kind.ADD:
        what = event.kind.name if isinstance(event, PackageMessage) else type(event).__name__
        raise RequestRefused(
            f"the record at offset {offset} is {what} and has no content; choose a package that adds", code="empty"
        )
    if await asyncio.to_thread(_is_taken, target):
        raise RequestRefused(
            f"{target} already exists; choose a new folder, or a new file that ends in {TAR}", code="exists"
        )
    async with receive(event, blobs, spool) as received:
        if target.suffix == TAR:
            await asyncio.to_thread(_write_tar, received.operations(), target)
        else:
            await _write_folder(received.operations(), target)
    return event.entries


async def export_records(log: Log, topic: str, wanted: RecordFilter, file: TextIO) -> int:
    """Write every wanted record as a line of JSON, with the length of its content; returns the number of records."""
    count = 0
    async for record, event in matching(log, topic, wanted):
        file.write(escaped(json.dumps(plain_record(topic, record, event), ensure_ascii=False)) + "\n")
        count += 1
    return count


def _is_taken(target: Path) -> bool:
    return target.exists() and (target.suffix == TAR or not target.is_dir() or any(target.iterdir()))


async def _write_folder(operations: Iterable[Operation], target: Path) -> None:
    repository = FolderRepository(target)
    try:
        await repository.open()
        await repository.apply(operations, b"")
    finally:
        await repository.close()
        shutil.rmtree(target / RESERVED, ignore_errors=True)


def _write_tar(operations: Iterable[Operation], target: Path) -> None:
    with (
        disk_errors(RepositoryUnavailable, target),
        replacing(target) as file,
        tarfile.open(fileobj=file, mode="w") as tar,
    ):
        for operation in operations:
            match operation:
                case Keep(path, mode):
                    _add(tar, Put(Entry(path, EntryKind.FOLDER, mode)))
                case Put():
                    _add(tar, operation)


def _add(tar: tarfile.TarFile, put: Put) -> None:
    entry = put.entry
    if entry.path == "/":
        return
    info = tarfile.TarInfo(entry.path[1:])
    info.mode = entry.mode
    if entry.kind is EntryKind.FILE:
        info.size = entry.size
        content = _Reader(entry.open())
        tar.addfile(info, content)
        if put.digest and content.digest() != put.digest:
            raise PackageCorrupt(f"{entry.path} does not have the digest {put.digest}; publish it again")
        return
    info.type = tarfile.DIRTYPE if entry.kind is EntryKind.FOLDER else tarfile.SYMTYPE
    info.linkname = entry.target
    tar.addfile(info)


class _Reader(io.RawIOBase):
    """Chunks as a file that can be read once, and the digest of everything read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""
        self._sha = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._rest += chunk
        data, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        self._sha.update(data)
        return data

    def digest(self) -> str:
        """The sha-256 of everything read."""
        return self._sha.hexdigest()
