"""A segment: a Parquet file of records in the order of their offsets."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from callboard.archive.arrow import pa, pc, pq
from callboard.archive.files.manifest import FORMAT, Segment
from callboard.backends.logs.restorable import Key
from callboard.messages.record import Record

SEGMENT_BYTES = 128 << 20
"""A file is closed at this size, where the cost of opening it is negligible beside reading it."""

SEGMENT_RECORDS = 4_000_000
"""A file is also closed at this many records, which bounds how far a reader scans for one offset."""

GROUP_BYTES = 16 << 20
GROUP_RECORDS = 65_536
"""A row group is written at this size, which is what a writer or a reader holds in memory."""

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("time_ns", pa.int64(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("key_sha256", pa.binary()),
        pa.field("headers", pa.binary(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
        pa.field("type", pa.string()),
        pa.field("publisher", pa.string()),
        pa.field("id", pa.string()),
    ]
)
"""``headers`` is the block made by ``pack_headers``; the columns after the payload repeat parts of it for queries.

``key`` is the record's key, ``key_sha256`` its digest where the log keeps only that. Both are null for records without
a key, or from a log without keys.
"""


def batch_of(records: Sequence[Record], keys: Mapping[int, Key]) -> pa.RecordBatch:
    """The records as rows, with their keys by offset."""
    found = [keys.get(record.offset) for record in records]
    columns = [
        [record.offset for record in records],
        [record.time_ns for record in records],
        [key if isinstance(key, str) else None for key in found],
        [key if isinstance(key, bytes) else None for key in found],
        [record.header_block for record in records],
        [record.payload for record in records],
    ]
    return rows_of([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=False)])


def rows_of(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """Rows of ``SCHEMA`` from its columns up to the payload; the remaining ones are derived from the headers."""
    headers = columns[SCHEMA.get_field_index("headers")]
    try:
        text = headers.cast(pa.string())
    except pa.ArrowInvalid:  # one is not text
        text = pa.array([(block or b"").decode(errors="replace") for block in headers.to_pylist()], pa.string())
    named = [_header(text, name) for name in ("type", "publisher", "id")]
    return pa.RecordBatch.from_arrays([*columns, *named], schema=SCHEMA)


def _header(blocks: pa.Array, name: str) -> pa.Array:
    """The value of the first header of that name in each block; null if absent."""
    found = pc.extract_regex(blocks, rf"^(?:[^\x00]*\x00[^\x00]*\x00)*?{name}\x00(?P<value>[^\x00]*)")
    return pc.struct_field(found, "value")


def sha256_of(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class SegmentWriter:
    """Writes one segment to a local file. Blocking. ``first`` and ``last`` are the offsets of its rows, -1 without any.

    Args:
        path: a new file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._sink = pa.OSFile(str(path), "wb")
        self._writer: Any = pq.ParquetWriter(
            self._sink,
            SCHEMA,
            compression="zstd",
            use_dictionary=["type", "publisher"],
            column_encoding={"offset": "DELTA_BINARY_PACKED", "time_ns": "DELTA_BINARY_PACKED"},
            write_statistics=["offset", "time_ns"],
            store_schema=False,
        )
        self._group: list[pa.RecordBatch] = []
        self.first = self.last = -1

    @property
    def length(self) -> int:
        """The size of the file so far, without the row group being collected."""
        return int(self._sink.tell())

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows; all must follow those already added."""
        if not batch.num_rows:
            return
        first, last = batch.column("offset")[0].as_py(), batch.column("offset")[-1].as_py()
        assert first > self.last, f"rows from offset {first} on do not follow {self.last}"
        self.first = first if self.first < 0 else self.first
        self.last = last
        self.rows += batch.num_rows
        self._group.append(batch)
        size, rows = sum(each.nbytes for each in self._group), sum(each.num_rows for each in self._group)
        if size >= GROUP_BYTES or rows >= GROUP_RECORDS:
            self._write_group()

    def finish(self, name: str) -> Segment:
        """Complete the file and return its manifest entry under this name. There must be rows."""
        self._write_group()
        self._writer.add_key_value_metadata({"callboard.format": str(FORMAT)})
        self._writer.close()
        self._sink.close()
        return Segment(
            name=name,
            first=self.first,
            last=self.last,
            rows=self.rows,
            length=self.path.stat().st_size,
            sha256=sha256_of(self.path),
        )

    def abandon(self) -> None:
        """Close the file, complete or not; idempotent, and harmless after ``finish``."""
        if not self._sink.closed:
            with suppress(OSError):  # a full disk, the reason to abandon it
                self._writer.close()
            self._sink.close()

    def _write_group(self) -> None:
        if self._group:
            table = pa.Table.from_batches(self._group)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self._group = []
