"""The result of one fetch: record batches, read up to where transactions are committed."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords

from callboard.errors import LogUnavailable
from callboard.messages.record import Record, records_of

NS_PER_MS = 1_000_000
TIME_NS_MAX = 2**63 - 1
"""Other programs may write any time; a later one is treated as this, the largest that storage can hold."""

_Row = tuple[int, int, bytes, bytes]
"""Offset, time, payload and header block of a record."""


class Aborted(NamedTuple):
    """A transaction in the chunk that was rolled back: its producer, and where it begins."""

    producer: int
    first_offset: int


class Chunk:
    """Fetched records that were not taken yet; they are decoded when taken.

    Args:
        data: whole record batches; a last incomplete one is skipped.
        aborted: the transactions whose records must not be visible.
        start: the requested offset; the first batch may begin below it.
    """

    def __init__(self, data: bytes, aborted: Sequence[Aborted], start: int) -> None:
        batches = list(_batches(data))
        self._rows = _committed(batches, sorted(aborted, key=lambda one: one.first_offset), start)
        self._held: _Row | None = None
        self.next = batches[-1].next_offset if batches else start
        """Where the next fetch starts."""
        self.empty = False
        """Whether everything was taken, as far as known: only a take that finds no more records can tell."""

    def take(self, max_records: int, max_bytes: int) -> list[Record]:
        """The next records, at least one if any is left."""
        taken, size = list[_Row](), 0
        while len(taken) < max_records:
            row = self._held or next(self._rows, None)
            if row is None:
                self.empty = True
                break
            size += len(row[2]) + len(row[3])
            if taken and size > max_bytes:
                self._held = row
                break
            self._held = None
            taken.append(row)
        return records_of(taken)

    def newest(self) -> int:
        """The offset of the last record, -1 if there is none; decodes records that were not taken yet."""
        rows = list(self._rows)
        self._rows = iter(rows)
        return rows[-1][0] if rows else -1


def _batches(data: bytes) -> Iterator[Any]:
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        if not batch.validate_crc():
            raise LogUnavailable("Kafka sent a record batch that is damaged; check the network and the broker's disk")
        yield batch


def _committed(batches: list[Any], aborted: list[Aborted], start: int) -> Iterator[_Row]:
    """The visible records from ``start`` on: none of aborted transactions, which extend to an abort marker."""
    pending, rolled_back = aborted[::-1], set[int]()
    for batch in batches:
        while pending and pending[-1].first_offset <= batch.base_offset:
            rolled_back.add(pending.pop().producer)
        if batch.is_control_batch:
            if ControlRecord.parse(next(batch).key) == ABORT_MARKER:
                rolled_back.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in rolled_back):
            for found in batch:
                if found.offset >= start:
                    time_ns = max(-TIME_NS_MAX, min(found.timestamp * NS_PER_MS, TIME_NS_MAX))
                    yield found.offset, time_ns, found.value or b"", _header_block(found.headers)


def _header_block(pairs: Sequence[tuple[str, bytes | None]]) -> bytes:
    """See ``pack_headers``. Other programs may write headers without a value, or with a NUL; readers must cope."""
    if not pairs:
        return b""
    parts = [part for name, value in pairs for part in (name.encode(), value or b"")]
    block = b"\0".join(parts)
    if block.count(0) != len(parts) - 1:
        block = b"\0".join(part.replace(b"\0", b"\xef\xbf\xbd") for part in parts)  # the replacement character
    return block
