"""Divides records into segments and puts them into the store: the path from a log to its manifests."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

from callboard.archive.arrow import pa
from callboard.archive.files import layout
from callboard.archive.files.chain import hole
from callboard.archive.files.manifest import Segment
from callboard.archive.files.segment import SEGMENT_BYTES, SEGMENT_RECORDS, SegmentWriter, batch_of
from callboard.archive.store import ArchiveStore
from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.backends.logs.restorable import Restorable
from callboard.errors import OffsetOutOfRange


async def log_rows(
    log: Log, topic: str, start: int, end: int, page_records: int = READ_RECORDS_MAX
) -> AsyncIterator[pa.RecordBatch]:
    """The records with offsets in ``[start, end)``, as rows of segments.

    Raises ``ArchiveHole`` if the log trims them in the meantime.
    """
    while start < end:
        try:
            records = await log.read(topic, start, page_records)
        except OffsetOutOfRange as error:
            if error.first > start:
                raise hole(topic, start, error.first) from error
            raise
        within = [record for record in records if record.offset < end]
        if not within:
            return
        start = within[-1].offset + 1
        keys = await log.keys(topic, within[0].offset, start) if isinstance(log, Restorable) else {}
        yield await asyncio.to_thread(batch_of, within, keys)


async def segments(
    store: ArchiveStore,
    topic: str,
    rows: AsyncIterable[pa.RecordBatch],
    unique: Callable[[str], str],
    *,
    segment_bytes: int = SEGMENT_BYTES,
    segment_records: int = SEGMENT_RECORDS,
) -> AsyncGenerator[tuple[Segment, bool], None]:
    """Segments in order, each already in the store, with whether it is known to be the last.

    Args:
        store: open.
        topic: whose rows they are.
        rows: in the order of their offsets.
        unique: maps the digest of a segment's content to the last part of its name: at most 64 hexadecimal digits.
        segment_bytes: see ``SEGMENT_BYTES``; a segment may exceed it by one row group.
        segment_records: see ``SEGMENT_RECORDS``.
    """
    with tempfile.TemporaryDirectory(prefix="callboard-archive-") as spool:
        path = Path(spool) / "segment.parquet"
        writer = SegmentWriter(path)
        try:
            async for batch in rows:
                while batch.num_rows:
                    room = segment_records - writer.rows
                    await asyncio.to_thread(writer.add, batch.slice(0, room))
                    if writer.length >= segment_bytes or writer.rows >= segment_records:
                        yield await _put(store, topic, writer, unique), False
                        writer = SegmentWriter(path)
                    batch = batch.slice(room)  # noqa: PLW2901
            if writer.rows:
                yield await _put(store, topic, writer, unique), True
        finally:
            writer.abandon()


async def _put(store: ArchiveStore, topic: str, writer: SegmentWriter, unique: Callable[[str], str]) -> Segment:
    written = await asyncio.to_thread(writer.finish, "")
    segment = replace(written, name=layout.segment(topic, written.first, unique(written.sha256)))
    await store.put_new(segment.name, writer.path)  # if it exists, an earlier answer was lost: the name is ours
    writer.path.unlink()
    return segment
