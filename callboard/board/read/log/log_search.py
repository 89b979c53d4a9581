"""Finds the newest or oldest records on a topic that match a filter, reading as little of the log as possible."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.board.read.log.log_records import LoggedRecord, in_a_line, opened
from callboard.errors import CallboardError, OffsetOutOfRange
from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.event import Event
from callboard.messages.record import Record

SKEW_NS = 3600 * 10**9
"""How far the clocks of writers may differ before one record counts as older than another."""

WINDOW_OFFSETS = 500
"""Records read at a time when reading backwards."""

SCAN_MAX = 200_000
"""Limit of records per search, a few seconds' work; the result says where it stopped, so that it can be resumed."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Selects records: those that match every given field.

    ``path`` is a pattern such as ``/blog/*``; ``pattern`` is searched for in paths, names, ids and reasons. A record
    that cannot be decoded matches unless something readable contradicts: it may be the one.
    """

    publisher: str = ""
    kind: str = ""
    path: str = ""
    user: str = ""
    since_ns: int | None = None
    until_ns: int | None = None
    pattern: re.Pattern[str] | None = None

    def admits(self, record: Record, event: Event | CallboardError) -> bool:
        """Whether the record matches; ``event`` is its message, or the error that prevents decoding."""
        if not (self.since_ns or 0) <= record.time_ns < (self.until_ns or record.time_ns + 1):
            return False
        if isinstance(event, CallboardError):
            return self.publisher in ("", record.header("publisher")) or not record.header("publisher")
        kind: Kind | None = getattr(event, "kind", None)
        return (
            self.publisher in ("", getattr(event, "publisher", ""))
            and (not self.kind or (kind is not None and kind.name == self.kind.upper()))
            and self.user in ("", getattr(event, "user", ""), getattr(event, "author", ""))
            and (not self.path or any(_matches(path, self.path) for path in getattr(event, "paths", ())))
            and (self.pattern is None or any(self.pattern.search(text) for text in _texts(record, event)))
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The records, oldest first. ``more_from`` is where the search reached its limit; -1 if it came to the end."""

    records: tuple[LoggedRecord, ...]
    looked_at: int
    more_from: int = -1


async def newest(log: Log, topic: str, wanted: RecordFilter, limit: int, before: int | None = None) -> Found:
    """The newest ``limit`` matching records, below the offset ``before`` if it is given."""
    low, end = await _range(log, topic, wanted)
    end = end if before is None else max(low, min(before, end))
    found: list[LoggedRecord] = []
    looked_at = 0
    while end > low and len(found) < limit:
        if looked_at >= SCAN_MAX:
            return Found(tuple(reversed(found)), looked_at, end)
        start = max(low, end - WINDOW_OFFSETS)
        window = [record async for record in between(log, topic, start, end)]
        looked_at, end = looked_at + len(window), start
        for record in reversed(window):
            event = opened(record)
            if len(found) < limit and wanted.admits(record, event):
                found.append(in_a_line(record, event))
    return Found(tuple(reversed(found)), looked_at)


async def oldest(log: Log, topic: str, wanted: RecordFilter, limit: int, start: int) -> Found:
    """The oldest ``limit`` matching records from ``start`` on. Raises ``OffsetOutOfRange`` as the log does."""
    found: list[LoggedRecord] = []
    looked_at = 0
    end = (await _range(log, topic, wanted))[1]
    async for record in between(log, topic, start, max(start, end), strict=True):
        if len(found) >= limit:
            break
        if looked_at >= SCAN_MAX:
            return Found(tuple(found), looked_at, record.offset)
        looked_at += 1
        event = opened(record)
        if wanted.admits(record, event):
            found.append(in_a_line(record, event))
    return Found(tuple(found), looked_at)


async def matching(log: Log, topic: str, wanted: RecordFilter) -> AsyncIterator[tuple[Record, Event | CallboardError]]:
    """Every matching record, oldest first."""
    low, end = await _range(log, topic, wanted)
    async for record in between(log, topic, low, end):
        event = opened(record)
        if wanted.admits(record, event):
            yield record, event


async def _range(log: Log, topic: str, wanted: RecordFilter) -> tuple[int, int]:
    """Offsets outside of which no record has a matching time, even if the clocks of writers differ."""
    low, end = await log.bounds(topic)
    if wanted.since_ns is not None:
        low = await first_since(log, topic, wanted.since_ns - SKEW_NS)
    if wanted.until_ns is not None:
        end = max(low, await first_since(log, topic, wanted.until_ns + SKEW_NS))
    return low, end


async def between(log: Log, topic: str, start: int, end: int, *, strict: bool = False) -> AsyncIterator[Record]:
    """The records in ``[start, end)`` that are still there; with ``strict``, the first of them must be."""
    while start < end or strict:
        try:
            found = await log.read(topic, start, min(READ_RECORDS_MAX, max(1, end - start)))
        except OffsetOutOfRange as error:
            if strict or error.first <= start:
                raise
            start = error.first  # trimmed in the meantime
            continue
        strict = False
        for record in found:
            if record.offset >= end:
                return
            yield record
        start = found[-1].offset + 1 if found else end


async def backwards(log: Log, topic: str, low: int, end: int) -> AsyncIterator[Record]:
    """The records in ``[low, end)``, newest first, in growing pages: the newest ones often suffice."""
    window = 1
    while end > low:
        start = max(low, end - window)
        for record in reversed([record async for record in between(log, topic, start, end)]):
            yield record
        end, window = start, min(2 * window, WINDOW_OFFSETS)


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.rstrip("/") + "/*")


def _texts(record: Record, event: Event) -> list[str]:
    """The texts that a search covers: names, ids, reasons and paths."""
    names = ("publisher", "subscriber", "package_id", "request_id", "command_id", "user", "author", "reason", "message")
    texts = [getattr(event, name, "") for name in names]
    return [*texts, record.header("id"), record.header("cause"), *getattr(event, "paths", ())]


async def first_since(log: Log, topic: str, time_ns: int) -> int:
    """The first offset of a record that is not older, by binary search: times rise, except for differing clocks."""
    low, high = await log.bounds(topic)
    while low < high:
        middle = (low + high) // 2
        found = await log.read(topic, middle, 1)
        if not found or found[0].time_ns >= time_ns:
            high = middle
        else:
            low = found[0].offset + 1
    return low
