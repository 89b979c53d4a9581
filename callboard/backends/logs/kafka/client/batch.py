"""Record batches: the unit that Kafka appends as a whole or not at all."""

from collections.abc import Sequence
from typing import NamedTuple

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from callboard.backends.logs.limits import check_sizes
from callboard.errors import RecordTooLarge
from callboard.messages.record import NewRecord

BATCH_OVERHEAD = 61
RECORD_OVERHEAD = 21
"""Maximum size of a batch's and a record's framing, besides keys, values and headers."""

Entry = tuple[bytes | None, bytes, list[tuple[str, bytes | None]]]
"""Key, value and headers of a record."""


class Producer(NamedTuple):
    """The producer of a batch. Brokers skip a batch whose ``sequence`` they already have from this producer."""

    id: int
    epoch: int
    sequence: int


def to_entries(topic: str, records: Sequence[NewRecord]) -> tuple[list[Entry], int]:
    """The records in Kafka's form, and their size in a batch, in bytes. Raises ``RecordTooLarge``."""
    check_sizes(topic, records)
    entries = [_entry(record) for record in records]
    return entries, sum(DefaultRecordBatchBuilder.size_of(*entry) + RECORD_OVERHEAD for entry in entries)


def encode(entries: Sequence[Entry], time_ms: int, producer: Producer) -> bytes:
    """One batch with all of the entries."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, *producer, batch_size=1 << 30)
    for number, (key, value, headers) in enumerate(entries):
        builder.append(number, time_ms, key, value, headers)
    return bytes(builder.build())


def append_too_large(topic: str, size: int, limit: int) -> RecordTooLarge:
    """The error for an append that does not fit into one batch."""
    return RecordTooLarge(
        f"an append of {size} bytes to topic {topic!r} is above the {limit} that Kafka takes at once; "
        "append fewer records at a time, or raise the topic's max.message.bytes"
    )


def _entry(record: NewRecord) -> Entry:
    headers: list[tuple[str, bytes | None]] = [(name, value.encode()) for name, value in record.headers]
    return record.key.encode() or None, record.payload, headers
