"""The append itself: rows into the table, each key once."""

import sqlite3
from collections.abc import Callable

from callboard.backends.logs.sqlite.schema import newest_given

_INSERT = "INSERT INTO records(time_ns, key, headers, payload) VALUES(?, ?, ?, ?)"
_LOOK_UP = "SELECT offset FROM records WHERE key = ?"


Row = tuple[str | None, bytes, bytes]
"""A record as the table has it: key, encoded headers, payload."""


def valid_text(key: str) -> str:
    """A key as it is stored. Raises ``ValueError`` here, so that it does not fail others in the same transaction."""
    key.encode()
    return key


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
