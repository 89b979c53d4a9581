"""Reads an archive: records in order, from files that are verified before use."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from callboard.archive.arrow import pa, pc, pq
from callboard.archive.files.manifest import Segment
from callboard.archive.files.segment import sha256_of
from callboard.archive.store import ArchiveStore
from callboard.archive.stores import open_archive
from callboard.archive.topic_archive import TopicArchive, load
from callboard.backends.logs.restorable import Key, Returned
from callboard.errors import ArchiveDamaged, ArchiveHole, BlobMissing, OffsetOutOfRange
from callboard.messages.record import Record, records_of

BATCH_ROWS = 10_000
"""Rows made into records at a time, before other tasks get their turn."""


class ArchiveReader:
    """Reads the topics of an archive. Use it in ``async with``, or close it.

    Args:
        place: a folder or ``s3://BUCKET/PREFIX``; or a store, which this object then owns.
        base: the folder that relative paths start from; the current one by default.
    """

    def __init__(self, place: str | ArchiveStore, base: Path | None = None) -> None:
        self._store = open_archive(place, base or Path.cwd()) if isinstance(place, str) else place

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Release everything; idempotent."""
        await self._store.close()

    async def topic(self, topic: str) -> TopicArchive | None:
        """The archived part of the topic at this moment; None if there is none. Raises ``ArchiveDamaged``."""
        return await load(self._store, topic)

    async def read(self, topic: str, start: int | None = None, stop: int | None = None) -> AsyncIterator[Record]:
        """The records with offsets in ``[start, stop)``, in order; all if neither is given.

        Raises:
            OffsetOutOfRange: the archive begins later or ends earlier.
            ArchiveHole: the range contains an accepted hole.
            ArchiveDamaged: a file is missing or altered.
        """
        async for batch in self.batches(topic, start, stop):
            for record in records_in(batch):
                yield record

    async def read_with_keys(
        self, topic: str, start: int | None = None, stop: int | None = None
    ) -> AsyncIterator[list[Returned]]:
        """The records as lists, each with its key. Raises the same as ``read``."""
        async for batch in self.batches(topic, start, stop):
            texts, digests = batch.column("key").to_pylist(), batch.column("key_sha256").to_pylist()
            keys: list[Key | None] = [text or known for text, known in zip(texts, digests, strict=True)]
            yield [Returned(record, key) for record, key in zip(records_in(batch), keys, strict=True)]

    async def batches(
        self, topic: str, start: int | None = None, stop: int | None = None, pinned: TopicArchive | None = None
    ) -> AsyncGenerator[pa.RecordBatch, None]:
        """The same rows as Arrow batches with the columns of ``segment.SCHEMA``. Raises the same as ``read``.

        ``pinned`` is the result of an earlier ``topic``, to read exactly that state again.
        """
        found = pinned or await self.topic(topic)
        if found is None:
            raise ArchiveDamaged(f"{self._store.place} has nothing of topic {topic!r}; correct its name, or archive it")
        start, stop = found.first if start is None else start, found.next if stop is None else stop
        if not found.first <= start <= stop <= found.next:
            raise OffsetOutOfRange(topic, start if stop <= found.next else stop, found.first, found.next)
        for hole in found.holes:
            if hole.first < stop and start < hole.next:
                raise ArchiveHole(
                    f"the archive of topic {topic!r} has a hole from {hole.first} up to {hole.next}, which was "
                    f"accepted; read up to {hole.first}, or from {hole.next} on"
                )
        with tempfile.TemporaryDirectory(prefix="callboard-archive-") as spool:
            for segment in found.files:
                if segment.first < stop and start <= segment.last:
                    async for batch in self._rows(segment, start, stop, Path(spool)):
                        yield batch

    async def segment(self, segment: Segment) -> AsyncIterator[pa.RecordBatch]:
        """All rows of a segment. Raises ``ArchiveDamaged`` if it is missing or altered."""
        with tempfile.TemporaryDirectory(prefix="callboard-archive-") as spool:
            async for batch in self._rows(segment, segment.first, segment.last + 1, Path(spool)):
                yield batch

    async def check(self, segment: Segment) -> None:
        """Read the whole segment. Raises ``ArchiveDamaged`` unless it matches its manifest entry."""
        rows, last = 0, segment.first - 1
        async for batch in self.segment(segment):
            offsets = batch.column("offset").to_pylist()
            rows += len(offsets)
            if any(after <= before for before, after in pairwise((last, *offsets))):
                raise ArchiveDamaged(f"{segment.name} is not in order; restore the archive from a copy")
            last = offsets[-1]
        if (rows, last) != (segment.rows, segment.last):
            raise ArchiveDamaged(
                f"{segment.name} has {rows} records up to {last} instead of {segment.rows} up to {segment.last}; "
                "restore the archive from a copy"
            )

    async def _rows(self, segment: Segment, start: int, stop: int, spool: Path) -> AsyncIterator[pa.RecordBatch]:
        path = await self._fetch(segment, spool)
        file: Any = await asyncio.to_thread(pq.ParquetFile, path)
        try:
            for group in range(file.num_row_groups):
                least, most = _range(file, group)
                if least >= stop or most < start:
                    continue
                table = await asyncio.to_thread(file.read_row_group, group)
                for batch in table.to_batches(max_chunksize=BATCH_ROWS):
                    if least < start or most >= stop:
                        offsets = batch.column("offset")
                        inside = pc.and_(pc.greater_equal(offsets, start), pc.less(offsets, stop))
                        batch = batch.filter(inside)  # noqa: PLW2901
                    if batch.num_rows:
                        yield batch
        finally:
            file.close()
            if path.is_relative_to(spool):
                path.unlink()

    async def _fetch(self, segment: Segment, spool: Path) -> Path:
        """The segment as a local file with the digest that its manifest states."""
        try:
            path = await self._store.fetch(segment.name, spool)
        except BlobMissing as error:
            raise ArchiveDamaged(str(error)) from error
        if await asyncio.to_thread(sha256_of, path) != segment.sha256:
            raise ArchiveDamaged(f"{segment.name} is not what was archived; restore the archive from a copy")
        return path


def _range(file: Any, group: int) -> tuple[int, int]:
    statistics = file.metadata.row_group(group).column(0).statistics
    return statistics.min, statistics.max


def records_in(batch: pa.RecordBatch) -> list[Record]:
    """The rows as records."""
    columns = (batch.column(name).to_pylist() for name in ("offset", "time_ns", "payload", "headers"))
    return records_of(zip(*columns, strict=True))
