"""The file of a queue cache's checkpoint: right or absent."""

import asyncio
import json
import os
import stat
import sys
import zlib
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from callboard.actors.publisher.queues.columns import Columns
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.summary import summarise
from callboard.actors.publisher.settings import MAX_ENTRIES
from callboard.backends.local.access import PRIVATE_FOLDER, shared_mode
from callboard.backends.local.disk import replacing
from callboard.backends.log import Log
from callboard.version import __version__

FORMAT = 1
"""Of the file. It goes up when packages are counted in another way, too."""

MADE_BY = f"queues as counted by callboard {__version__}, format {FORMAT}, {sys.byteorder}\n".encode()
"""Another version may read other packages from the same records, so it begins again."""

CRC_CHARS = 8


class CheckpointFile:
    """Keeps the index of a log's packages in a file, for the processes that come next.

    A file is ignored if it is damaged, from another version or log, or if the log no longer has the file's newest
    package, with the same id and time, at its offset. So a file ends with its newest package. Many processes may write
    it; it is replaced as a whole.
    """

    def __init__(self, log: Log, path: Path | None) -> None:
        self._log, self._path = log, path

    async def load(self, topic: str, log_id: str) -> PackageIndex | None:
        """The index, without what was trimmed since. Raises ``LogError``."""
        found = None if self._path is None else await asyncio.to_thread(_read, self._path)
        if found is None or found.log_id != log_id or await self._log.identity(topic) != log_id:
            return None
        (first, end), (offset, time_ns) = await self._log.bounds(topic), found.newest
        if not first <= offset < end:
            return None
        for record in await self._log.read(topic, offset, 1):
            newest = summarise(record)
            if (newest.offset, newest.time_ns, newest.package_id) != (offset, time_ns, found.newest_id):
                return None
        found.trim(first)
        return found

    async def save(self, topic: str, index: PackageIndex) -> str:
        """Write the index, and what the file knows of older packages; return why not, if it cannot be written. Raises
        ``LogError``.
        """
        if self._path is None:
            return "this log has no checkpoint"
        before = await self.load(topic, index.log_id)
        if before is not None and before.start < index.start <= before.stop and len(before) + len(index) <= MAX_ENTRIES:
            index.prepend(before.split(index.start))
        index.start = max(index.start, (await self._log.bounds(topic)).first)  # an archive may go further back
        index.stop = index.newest[0] + 1
        try:
            await asyncio.to_thread(_write, self._path, index)
        except OSError as error:
            return f"{self._path} cannot be written: {error.strerror}"
        return ""


def _read(path: Path) -> PackageIndex | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not _is_trusted(descriptor, path.parent) or file.read(len(MADE_BY)) != MADE_BY:
                return None
            crc, data = file.read(CRC_CHARS), file.read()
    except OSError:
        return None
    return _decoded(data) if crc == _crc(zlib.crc32(data)) else None


def _is_trusted(descriptor: int, folder: Path) -> bool:
    """Whether those who could have written the file may write the log: in a folder such as /tmp, only this user."""
    found = os.fstat(descriptor)
    return stat.S_ISREG(found.st_mode) and (found.st_uid == os.geteuid() or not folder.stat().st_mode & stat.S_ISVTX)


def _write(path: Path, index: PackageIndex) -> None:
    """Replace the file. Raises ``OSError``."""
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    with replacing(path) as file:
        os.fchmod(file.fileno(), shared_mode(path.parent))
        file.writelines(_encoded(index))


def _crc(value: int) -> bytes:
    return b"%0*x" % (CRC_CHARS, value)


def _encoded(index: PackageIndex) -> Iterable[bytes]:
    named = [(to, name, columns) for to, its in index.streams.items() for name, columns in its.items()]
    about = {
        "log_id": index.log_id, "start": index.start, "stop": index.stop, "newest_id": index.newest_id,
        "streams": [(to, name, len(columns), columns.below) for to, name, columns in named],
    }  # fmt: skip
    parts = [json.dumps(about).encode() + b"\n"]
    for _, _, columns in named:
        parts += (column.tobytes() for column in (columns.offsets, columns.times, columns.totals))
    return MADE_BY, _crc(reduce(lambda crc, part: zlib.crc32(part, crc), parts, 0)), *parts


def _decoded(data: bytes) -> PackageIndex:
    place = data.index(b"\n") + 1
    about = json.loads(data[:place])
    index = PackageIndex(about["log_id"], about["start"])
    index.stop, index.newest_id = about["stop"], about["newest_id"]
    for to, name, count, below in about["streams"]:
        columns = index.streams.setdefault(to, {})[name] = Columns()
        columns.below = below
        for column in (columns.offsets, columns.times, columns.totals):
            end = place + count * column.itemsize
            column.frombytes(memoryview(data)[place:end])
            place = end
    return index
