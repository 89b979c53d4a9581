"""Trims a topic in slices, so that writers do not wait for long."""

import sqlite3

from callboard.backends.log import AHEAD_NS, Retention
from callboard.backends.logs.sqlite.schema import identity

SLICE_RECORDS = 500
SLICE_BYTES = 1 << 20
"""Limit of one slice in bytes, which holds the turn for a millisecond or two."""

SLICE_PAGES = 200
"""And of the pages returned to the disk at a time."""

PAUSE_S = 0.005
"""Between two slices, so that writers get their turn."""

SPARE_PAGES = 4096
"""Free pages (of 4 kB) that the file keeps for reuse; only those in excess are returned."""

_NEWEST_ABOVE = """
    SELECT offset FROM (
        SELECT offset, sum(length(payload) + length(headers)) OVER (ORDER BY offset DESC) AS total
        FROM records
    ) WHERE total > ? LIMIT 1"""
_OLDEST_YOUNG = "SELECT offset FROM records WHERE time_ns BETWEEN ? AND ? ORDER BY offset LIMIT 1"
_NEWEST_OLD = "SELECT offset FROM records WHERE time_ns < ? AND offset < ? ORDER BY offset DESC LIMIT 1"
_OLDEST = """
    SELECT offset, length(payload) + length(headers) FROM records WHERE offset < ? ORDER BY offset LIMIT ?"""


def lowest_staying(db: sqlite3.Connection, retention: Retention, now_ns: int, end: int) -> int:
    """The lowest offset that must stay; ``end`` if everything may be removed."""
    kept = end if retention.keep_from is None else min(retention.keep_from, end)
    limits = [retention.below_offset or 0]
    if retention.older_than_s is not None:
        since_ns = now_ns - int(retention.older_than_s * 1e9)
        young = db.execute(_OLDEST_YOUNG, (since_ns, now_ns + AHEAD_NS)).fetchone()
        row = db.execute(_NEWEST_OLD, (since_ns, min(young[0], kept) if young else kept)).fetchone()
        limits.append(row[0] + 1 if row else 0)
    if retention.above_bytes is not None:
        row = db.execute(_NEWEST_ABOVE, (retention.above_bytes,)).fetchone()
        limits.append(row[0] + 1 if row else 0)
    return min(max(limits), kept)


def remove_slice(db: sqlite3.Connection, retention: Retention, below: int) -> bool:
    """Remove the oldest records below an offset, as many as one slice takes; False when none is left, or the file has
    become another log: raising would fail the appends in the same transaction.
    """
    if not retention.is_of(identity(db)):
        return False
    cut, size = 0, 0
    for offset, length in db.execute(_OLDEST, (below, SLICE_RECORDS)).fetchall():
        cut, size = offset, size + length
        if size >= SLICE_BYTES:
            break
    db.execute("DELETE FROM records WHERE offset <= ?", (cut,))
    return cut > 0


def give_back_slice(db: sqlite3.Connection) -> bool:
    """Return some free pages to the disk; False when there are no more than the file should keep."""
    excess = int(db.execute("PRAGMA freelist_count").fetchone()[0]) - SPARE_PAGES
    for _ in range(min(excess, SLICE_PAGES)):
        db.execute("PRAGMA incremental_vacuum(1)")  # through this module, a larger number also frees only one page
    return excess > 0
