"""The append itself: records as the arrays that the schema's function takes, each key once."""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.backends.logs.headers import encode_headers
from callboard.backends.logs.limits import missing, too_large
from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.server import Connection
from callboard.errors import ConfigError
from callboard.messages.record import NewRecord

_TOPIC_MISSING, _WRONG_ISOLATION = "CB001", "CB002"
_APPEND = "SELECT append($1, $2, $3, $4, $5)"


class Row(NamedTuple):
    """A record as the table has it; the key as its digest, which has a length that an index takes."""

    key: bytes | None
    headers: bytes
    payload: bytes


def to_rows(topic: str, records: Sequence[NewRecord]) -> tuple[list[Row], int]:
    """The records' rows and bytes. Raises ``RecordTooLarge``."""
    rows, total = list[Row](), 0
    for record in records:
        key = sha256(record.key.encode()).digest() if record.key else None
        row = Row(key, encode_headers(record.headers), record.payload)
        if (size := len(row.payload) + len(row.headers)) > RECORD_BYTES_MAX:
            raise too_large(topic, size)
        rows.append(row)
        total += size
    return rows, total


async def append_rows(
    connection: Connection, topic: str, rows: Sequence[Row], time_ns: int, statement: str = _APPEND
) -> list[int]:
    """Write the rows in one statement and return their offsets. Raises ``TopicMissing``, and what asyncpg does."""
    if not rows:
        return []
    places, sent, place_of = list[int](), list[Row](), dict[bytes, int]()
    for row in rows:
        place = place_of.setdefault(row.key, len(sent)) if row.key else len(sent)
        if place == len(sent):
            sent.append(row)
        places.append(place)
    keys, headers, payloads = zip(*sent, strict=True)
    try:
        offsets = await connection.fetchval(statement, topic, time_ns, keys if place_of else None, headers, payloads)
    except asyncpg.PostgresError as error:
        if error.sqlstate == _TOPIC_MISSING:
            raise missing(topic) from None
        if error.sqlstate == _WRONG_ISOLATION:
            raise ConfigError(f"{error}; begin it without another isolation level") from None
        raise
    return [offsets[place] for place in places]
