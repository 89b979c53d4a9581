"""Reads a range of a topic as Arrow batches, and checks at the end that none of it was missing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from callboard.archive.reader import ArchiveReader
from callboard.archive.topic_archive import TopicArchive
from callboard.backends.log import Log
from callboard.pipeline.source.columns import RAW
from callboard.pipeline.source.extent import look
from callboard.pipeline.source.place import Place

BATCH_RECORDS = 10_000
"""Rows of a batch: fewer cost more Python time per row, more cost memory."""

BATCH_BYTES = 16 << 20
"""Bytes of a batch; records are up to 2 MB."""


def log_range(
    place: Place, name: str, log_id: str, start: int, stop: int, columns: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The records in ``[start, stop)`` of the topic, in order, with the wanted ``RAW`` columns.

    Raises:
        OffsetOutOfRange: some were trimmed before they were read; discard what was yielded.
        LogReplaced: the topic was replaced meanwhile; likewise.
    """
    url = place.url()
    if url.startswith("postgresql:"):
        from callboard.pipeline.source.postgres_range import copied

        yield from copied(url, name, start, stop, columns)
    else:
        yield from _read(place.open_log(), name, start, stop, columns)
    look(place).check(start, log_id)  # after the last row: records trimmed meanwhile may not have been read


def archive_range(
    place: Place, pinned: TopicArchive, start: int, stop: int, columns: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The same from an archive, of the files found earlier."""
    with asyncio.Runner() as runner:
        reader = ArchiveReader(place.archive, Path.cwd())
        batches = reader.batches(pinned.topic, start, stop, pinned)
        try:
            while (batch := runner.run(anext(batches, None))) is not None:
                yield batch.select(columns.names)
        finally:
            runner.run(batches.aclose())
            runner.run(reader.close())


def _read(log: Log, name: str, start: int, stop: int, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    with asyncio.Runner() as runner:
        try:
            while start < stop:
                records = runner.run(log.read(name, start, BATCH_RECORDS, BATCH_BYTES))
                if not records:
                    return
                start = records[-1].offset + 1
                if start > stop:
                    records = [record for record in records if record.offset < stop]
                values = {
                    "offset": [record.offset for record in records],
                    "time_ns": [record.time_ns for record in records],
                    "headers": [record.header_block for record in records],
                    "payload": [record.payload for record in records],
                }
                arrays = [pa.array(values[field.name], field.type) for field in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)
        finally:
            runner.run(log.close())


def wanted_raw(columns: pa.Schema) -> pa.Schema:
    """The ``RAW`` columns that these need: the large ones only if something uses them."""
    names = set(columns.names)
    if names <= set(RAW.names):
        return pa.schema([field for field in RAW if field.name in names or field.name == "offset"])
    messages = any(pa.types.is_struct(field.type) for field in columns) or "problem" in names
    return pa.schema([field for field in RAW if messages or field.name != "payload" or "payload" in names])
