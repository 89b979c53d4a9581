"""What one fetch brings: record batches, read as far as transactions were committed."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords

from callboard.backends.logs.limits import record_bytes
from callboard.errors import LogUnavailable
from callboard.messages.record import Record, pack_headers

NS_PER_MS = 1_000_000


class Aborted(NamedTuple):
    """A transaction in the chunk that was rolled back: by whom, and where it begins."""

    producer: int
    first_offset: int


class Chunk:
    """Records that were fetched and not yet taken, decoded when they are.

    Args:
        data: whole record batches; a last incomplete one is passed over.
        aborted: the transactions whose records are not to be seen.
        start: the offset that was asked for; the first batch may begin below it.
    """

    def __init__(self, data: bytes, aborted: Sequence[Aborted], start: int) -> None:
        self._batches = list(_batches(data))
        self._records = _committed(self._batches, sorted(aborted, key=lambda one: one.first_offset), start)
        self._held: Record | None = None
        self.next = self._batches[-1].next_offset if self._batches else start
        """Where the next fetch goes on."""
        self.empty = False
        """Whether all was taken, as far as known: only a take that finds nothing more can tell."""

    def take(self, max_records: int, max_bytes: int) -> list[Record]:
        """The next records, at least one if any is left."""
        taken, size = list[Record](), 0
        while len(taken) < max_records:
            record = self._held or next(self._records, None)
            if record is None:
                self.empty = True
                break
            size += record_bytes(record)
            if taken and size > max_bytes:
                self._held = record
                break
            self._held = None
            taken.append(record)
        return taken

    def hold_all(self, records: list[Record]) -> None:
        """Have these taken once more."""
        self._records, self.empty = iter(records), False


def _batches(data: bytes) -> Iterator[Any]:
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        if not batch.validate_crc():
            raise LogUnavailable("Kafka sent a record batch that is damaged; check the network and the broker's disk")
        yield batch


def _committed(batches: list[Any], aborted: list[Aborted], start: int) -> Iterator[Record]:
    """The records from ``start`` on without those of aborted transactions, which run up to an abort marker."""
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
                    yield _record(found)


def _record(found: Any) -> Record:
    return Record(
        offset=found.offset,
        time_ns=found.timestamp * NS_PER_MS,
        payload=found.value or b"",
        header_block=_header_block(found.headers) if found.headers else b"",
    )


def _header_block(pairs: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Other programs may write headers without a value, or that are not text; neither stops a reader."""
    return pack_headers(tuple((_text(name.encode()), _text(value or b"")) for name, value in pairs))


def _text(value: bytes) -> str:
    return value.decode(errors="replace").replace("\0", "\ufffd")
