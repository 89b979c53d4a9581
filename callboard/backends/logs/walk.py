"""Walks over the records of a topic: forwards, past what is trimmed meanwhile; backwards; and to a time."""

from collections.abc import AsyncIterator

from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import Record

SKEW_NS = 3600 * 10**9
"""How far the clocks of writers may differ before one record counts as older than another."""

WINDOW_OFFSETS = 500
"""Records read at a time when reading backwards."""


async def between(
    log: Log, topic: str, start: int, end: int, lost: list[tuple[int, int]] | None = None
) -> AsyncIterator[Record]:
    """The records in ``[start, end)`` that are still there. The ranges that are not are added to ``lost``."""
    while start < end:
        try:
            found = await log.read(topic, start, min(READ_RECORDS_MAX, end - start))
        except OffsetOutOfRange as error:
            if error.first <= start:
                raise
            if lost is not None:
                lost.append((start, error.first))
            start = error.first  # trimmed in the meantime
            continue
        for record in found:
            if record.offset >= end:
                return
            yield record
        start = found[-1].offset + 1 if found else end


async def backwards(log: Log, topic: str, low: int, end: int, window: int = 1) -> AsyncIterator[Record]:
    """The records in ``[low, end)``, newest first, read in growing windows: the newest ones often suffice."""
    while end > low:
        start = max(low, end - window)
        for record in reversed([record async for record in between(log, topic, start, end)]):
            yield record
        end, window = start, min(2 * window, WINDOW_OFFSETS)


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


async def newest(log: Log, topic: str, count: int) -> AsyncIterator[Record]:
    """The records at the newest ``count`` offsets, oldest first."""
    first, end = await log.bounds(topic)
    async for record in between(log, topic, max(first, end - count), end):
        yield record
