"""Finds the newest or oldest records on a topic that match a filter, reading as little of the log as possible."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from callboard.backends.log import Log
from callboard.backends.logs.walk import SKEW_NS, WINDOW_OFFSETS, backwards, between, first_since
from callboard.board.page import AsOf, Page, resumed, trimmed
from callboard.board.read.log.log_records import LoggedRecord, in_a_line, opened
from callboard.board.topology.wording import about
from callboard.door.cursors import Place, cursor_at
from callboard.door.questions import asked
from callboard.errors import CallboardError
from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.event import Event
from callboard.messages.record import Record
from callboard.messages.topology.member_event import MemberEvent

SCAN_MAX = 200_000
"""Limit of records per search, a few seconds' work; the cursor of the page continues it."""


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
        kind = getattr(event, "kind", None)  # of a package; others have kinds, too, which are texts
        return (
            self.publisher in ("", getattr(event, "publisher", ""))
            and (not self.kind or (isinstance(kind, Kind) and kind.name == self.kind.upper()))
            and self.user in ("", getattr(event, "user", ""), getattr(event, "author", ""))
            and (not self.path or any(_matches(path, self.path) for path in getattr(event, "paths", ())))
            and (self.pattern is None or any(self.pattern.search(text) for text in _texts(record, event)))
        )


async def listed(
    log: Log, topic: str, wanted: RecordFilter, limit: int, now_ns: int, *, cursor: str = "", start: int | None = None,
    scan: int = SCAN_MAX,
) -> Page[LoggedRecord]:  # fmt: skip
    """A page of the matching records, oldest first: the newest ones, or the oldest from ``start`` on. The next page
    continues from there, back or forth; ``cursor`` is that of the page before. A page may be short, as it comes of
    ``scan`` records at most.

    Raises ``OffsetOutOfRange`` if the log does not have ``start``, and ``RequestRefused`` for a cursor that is none of
    this listing.
    """
    asked(cursor=cursor, limit=limit)
    listing = "log", topic, repr(replace(wanted, since_ns=None, until_ns=None))  # those may be relative to now
    place = await resumed(log, topic, cursor, listing)
    low, high = await _range(log, topic, wanted)
    first, end = await log.bounds(topic)
    if start is not None:
        await log.read(topic, start, 1)
    if place is None:
        place = Place(end, first=first) if start is None else Place(start)
    at, forth = place.offset, place.first < 0
    found, looked_at, more, lost = list[LoggedRecord](), 0, False, list[tuple[int, int]]()
    end = min(high, end) if forth else min(at, high, end)
    back = backwards(log, topic, low, end, WINDOW_OFFSETS)
    async for record in between(log, topic, at, end, lost) if forth else back:
        if more := len(found) >= limit or looked_at >= scan:
            break
        looked_at, at = looked_at + 1, record.offset + forth
        event = opened(record)
        if wanted.admits(record, event):
            found.append(in_a_line(record, event))
    if not forth:
        found.reverse()
        first = (await log.bounds(topic)).first
        lost += [(place.first, min(first, at))] if low <= first and place.first < min(first, at) else []
    after = Place(at, first=-1 if forth else first)
    return Page(
        items=tuple(found),
        as_of=AsOf(end, now_ns),
        cursor=cursor_at(after, listing, await log.identity(topic)) if more else "",
        missing="; ".join(trimmed(*each) for each in lost),
    )


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


def _matches(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.rstrip("/") + "/*")


def _texts(record: Record, event: Event) -> list[str]:
    """The texts that a search covers: names, ids, reasons and paths."""
    names = ("publisher", "subscriber", "package_id", "request_id", "command_id", "user", "author", "reason", "message")
    texts = [getattr(event, name, "") for name in names]
    told = [about(event)] if isinstance(event, MemberEvent) else []
    return [*texts, *told, record.header("id"), record.header("cause"), *getattr(event, "paths", ())]
