"""The limits shared by all built-in logs, with the same error messages."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.errors import ConfigError, LogUnavailable, RecordTooLarge, TopicMissing
from callboard.messages.record import NewRecord, Record, pack_headers

K = TypeVar("K")

_TOPIC = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}")


def is_topic_name(topic: str) -> bool:
    """Whether this is a valid name of a topic."""
    return _TOPIC.fullmatch(topic) is not None


def check_topic_name(topic: str) -> None:
    """Raise ``ConfigError`` unless this is a valid name of a topic."""
    if not is_topic_name(topic):
        raise ConfigError(
            f"{topic!r} cannot name a topic; use 1 to 81 of a-z, 0-9, '.', '_' and '-', "
            "beginning with a letter or digit"
        )


def record_bytes(record: NewRecord | Record) -> int:
    """The size of a record for limits and retention, in bytes: its payload and its packed headers."""
    block = record.header_block if isinstance(record, Record) else pack_headers(record.headers)
    return len(record.payload) + len(block)


def check_sizes(topic: str, records: Sequence[NewRecord]) -> None:
    """Raise ``RecordTooLarge`` if one of the records is above ``RECORD_BYTES_MAX``."""
    for record in records:
        if (size := record_bytes(record)) > RECORD_BYTES_MAX:
            raise too_large(topic, size)


def to_rows(
    topic: str, records: Sequence[NewRecord], key_of: Callable[[str], K]
) -> tuple[list[tuple[K | None, bytes, bytes]], int]:
    """Key, header block and payload of each record, and their size in bytes. Raises ``RecordTooLarge``.

    ``key_of`` turns a key into what the log stores; a record without a key has None.
    """
    rows, total = list[tuple[K | None, bytes, bytes]](), 0
    for record in records:
        headers = pack_headers(record.headers)
        size = len(record.payload) + len(headers)
        if size > RECORD_BYTES_MAX:
            raise too_large(topic, size)
        rows.append((key_of(record.key) if record.key else None, headers, record.payload))
        total += size
    return rows, total


def too_large(topic: str, size: int) -> RecordTooLarge:
    """The error for a record of ``size`` bytes."""
    return RecordTooLarge(
        f"a record of {size} bytes for topic {topic!r} is above the limit of {RECORD_BYTES_MAX}; "
        "put fewer paths or less metadata into one package; content belongs in the blob store (the setting blobs)"
    )


def missing(topic: str) -> TopicMissing:
    """The error for a topic that was never ensured."""
    return TopicMissing(f"there is no topic {topic!r} in this log; ensure() it, or correct its name")


def closed() -> LogUnavailable:
    """The error for a call after ``close``."""
    return LogUnavailable("this log was closed; open it again")
