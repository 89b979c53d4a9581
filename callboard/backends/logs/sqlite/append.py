"""The append itself: rows into the table, each key once."""

import sqlite3
from collections.abc import Callable, Sequence

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.backends.logs.limits import too_large
from callboard.backends.logs.sqlite.schema import newest_given
from callboard.messages.record import NewRecord, pack_headers

_INSERT = "INSERT INTO records(time_ns, key, headers, payload) VALUES(?, ?, ?, ?)"
_LOOK_UP = "SELECT offset FROM records WHERE key = ?"


Row = tuple[str | None, bytes, bytes]
"""A record as the table has it: key, encoded headers, payload."""


def to_rows(topic: str, records: Sequence[NewRecord]) -> tuple[list[Row], int]:
    """The records as rows, and their size in bytes. Raises ``RecordTooLarge``, and ``ValueError`` for invalid text."""
    rows, total = list[Row](), 0
    for record in records:
        headers = pack_headers(record.headers)
        record.key.encode()  # must fail here, and not fail others in the same transaction
        size = len(record.payload) + len(headers)
        if size > RECORD_BYTES_MAX:
            raise too_large(topic, size)
        rows.append((record.key or None, headers, record.payload))
        total += size
    return rows, total


def append_rows(db: sqlite3.Connection, rows: list[Row], clock: Callable[[], int]) -> list[int]:
    """Write the rows and return their offsets; an existing key returns the offset that it has.

    Look-up and insertion share one transaction: if a commit that a dying writer left unseen becomes visible at all, it
    does so before.
    """
    now_ns, offsets = clock(), list[int]()
    if len(rows) > 1 and not any(key for key, _, _ in rows):
        db.executemany(_INSERT, ((now_ns, *row) for row in rows))
        newest = newest_given(db)  # in a transaction AUTOINCREMENT counts by one
        return list(range(newest - len(rows) + 1, newest + 1))
    for row in rows:
        held = db.execute(_LOOK_UP, row[:1]).fetchone() if row[0] else None
        offsets.append(held[0] if held else db.execute(_INSERT, (now_ns, *row)).lastrowid or 0)
    return offsets
