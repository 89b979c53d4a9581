"""Restores records under their own offsets, for an archive; see ``Restorable``."""

import sqlite3
from collections.abc import Sequence

from callboard.backends.logs.restorable import Key, Returned, are_behind
from callboard.backends.logs.sqlite.schema import newest_given

_KEYS = "SELECT offset, key FROM records WHERE offset >= ? AND offset < ? AND key IS NOT NULL"
_INSERT = "INSERT INTO records(offset, time_ns, key, headers, payload) VALUES(?, ?, ?, ?, ?)"


def keys(db: sqlite3.Connection, start: int, stop: int) -> dict[int, Key]:
    """The keys of the records in this range."""
    return dict(db.execute(_KEYS, (start, stop)).fetchall())


def put_back(db: sqlite3.Connection, records: Sequence[Returned]) -> bool:
    """Write the records; False unless all of them are above every offset that the topic has assigned."""
    if not are_behind(records, newest_given(db) + 1):
        return False
    db.executemany(
        _INSERT,
        (
            (record.offset, record.time_ns, key if isinstance(key, str) else None, record.header_block, record.payload)
            for record, key in records
        ),
    )
    return True


def complete(db: sqlite3.Connection, identity: str, end: int) -> None:
    """Set the topic's identity, and have offsets continue at ``end``; its first record determines its beginning."""
    db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'records'", (end - 1,))
    if identity:
        db.execute("UPDATE incarnation SET identity = ?", (identity,))
