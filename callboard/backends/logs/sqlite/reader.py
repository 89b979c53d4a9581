"""Reads a topic: short read-only queries, each ended at once so that the write-ahead log can start over."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from callboard.backends.log import Bounds, Retention
from callboard.backends.logs.limits import closed
from callboard.backends.logs.sqlite.bell import Bell, remembered
from callboard.backends.logs.sqlite.failure import explained
from callboard.backends.logs.sqlite.retention import lowest_staying
from callboard.backends.logs.sqlite.schema import (
    Files,
    check_in_use,
    inodes,
    lineage,
    newest_given,
    open_readable,
    prepare,
)
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import Record, records_of

P = ParamSpec("P")
T = TypeVar("T")

_READ = "SELECT offset, time_ns, payload, headers FROM records WHERE offset >= ? ORDER BY offset LIMIT ?"
_BOUNDS = "SELECT (SELECT min(offset) FROM records), seq + 1 FROM sqlite_sequence WHERE name = 'records'"
_NEWEST = "SELECT max(offset) FROM records"


class Reader:
    """All read operations, for any number of threads: each one borrows a connection.

    Blocking. Raises the same as ``open_readable``, and ``LogReplaced``.
    """

    def __init__(self, files: Files, bell: Bell) -> None:
        self._files, self._bell = files, bell
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self._idle.append(db := self._open())
        self.lineage = lineage(db)
        self.opened = inodes(files)
        """The files that all connections must have."""

    def read(self, start: int, max_records: int, max_bytes: int) -> tuple[list[Record], bool]:
        """See ``Log.read``; and whether there was no further record."""
        found, size, is_end = list[tuple[int, int, bytes, bytes]](), 0, True
        with self._look() as db:
            rows = db.execute(_READ, (start, max_records))
            for row in rows:
                size += len(row[2]) + len(row[3])
                if size > max_bytes and found:
                    is_end = False
                    break
                found.append(row)
            rows.close()
            if not found or found[0][0] != start:
                # a gap, the end, or out of range; changes since the query do no harm
                first, end = self._bounds(db)
                if not first <= start <= end:
                    raise OffsetOutOfRange(self._files.topic, start, first, end)
        return records_of(found), is_end and len(found) < max_records

    def holds(self, start: int) -> bool:
        """Whether there is a record with an offset of at least ``start``."""
        with self._look() as db:
            newest = db.execute(_NEWEST).fetchone()[0]
            return newest is not None and newest >= start

    def bounds(self) -> Bounds:
        """See ``Log.bounds``."""
        with self._look() as db:
            return self._bounds(db)

    def lowest_staying(self, retention: Retention, now_ns: int) -> int:
        """The lowest offset that the retention keeps."""
        with self._look() as db:
            return lowest_staying(db, retention, now_ns, self._bounds(db).end)

    def ask(self, query: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of a query to one of the connections."""
        with self._look() as db:
            return query(db, *args, **kwargs)

    def close(self) -> None:
        """Close the connections, those in use when they are returned; idempotent."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    def _bounds(self, db: sqlite3.Connection) -> Bounds:
        first, end = db.execute(_BOUNDS).fetchone()
        return Bounds(end if first is None else first, end)

    def _open(self) -> sqlite3.Connection:
        heard = self._bell.heard()  # before opening: commits come before rings
        db = open_readable(self._files)
        if newest_given(db) < remembered(heard, lineage(db)):  # an older copy was put back
            db.close()
            prepare(self._files)
            db = open_readable(self._files)
        return db

    def _give_back(self, db: sqlite3.Connection) -> None:
        with self._lock:
            if self._closed:
                db.close()
            else:
                self._idle.append(db)

    @contextmanager
    def _look(self) -> Iterator[sqlite3.Connection]:
        with explained(self._files.database):
            check_in_use(self._files, self.opened)
            with self._lock:
                if self._closed:
                    raise closed()
                db = self._idle.pop() if self._idle else None
            db = db or self._open()
            try:
                yield db
            finally:
                self._give_back(db)
