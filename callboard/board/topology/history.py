"""The changes of a cluster: as pages, and as a stream."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from callboard.board.context import BoardContext
from callboard.board.page import AsOf, Page, resumed, trimmed
from callboard.board.topology.changes import ClusterChange, change_of
from callboard.board.topology.opening import opened
from callboard.board.topology.reading import Reading, oldest_start
from callboard.door.cursors import Place, cursor_at
from callboard.errors import LogReplaced, LogUnavailable, OffsetOutOfRange
from callboard.logger import get_logger

WAIT_S = 10.0
"""Seconds of one wait for more; another wait follows."""
RETRY_S = 1.0
"""Seconds until the next attempt: when the log is unavailable, or has no control topic yet."""


async def history(board: BoardContext, cursor: str, limit: int) -> Page[ClusterChange]:
    """A page of the newest changes, oldest first; the next page is older."""
    reading = await opened(board, oldest_start)
    if reading is None:
        return Page(items=(), as_of=AsOf(-1, board.now_ns()), size=0)
    listing = "cluster history", reading.topic
    place = await resumed(board.log, reading.topic, cursor, listing)
    end = (await board.log.bounds(reading.topic)).end
    found, before, size = deque[ClusterChange](maxlen=limit), 0, 0
    async for step in reading.steps(end):
        if (change := change_of(step)) is not None:
            size += 1
            if place is None or change.offset < place.offset:
                before += 1
                found.append(change)
    more = before > len(found)
    at = found[0].offset if found else end
    return Page(
        items=tuple(found),
        as_of=AsOf(end, board.now_ns()),
        cursor=cursor_at(Place(at), listing, reading.log_id) if more else "",
        size=size,
        missing=missing(reading),
    )


def missing(reading: Reading) -> str:
    """What the reading could not know, because it was trimmed."""
    if reading.unknown:
        return f"{trimmed(0, reading.first)}, and no snapshot is there from which the state is known"
    if reading.first <= 1:
        return ""
    return f"{trimmed(0, reading.first)}, so that changes before offset {reading.start} are unknown"


async def watch(board: BoardContext, after: int | None) -> AsyncGenerator[ClusterChange, None]:
    """The changes made by records after the offset, or from now on, as they come, until the board closes."""
    log, reading, last = board.log, None, after
    while board.resources.holds(log):
        try:
            if reading is None or last is None:
                reading, last = await _begun(board, last)
            if reading is None:
                await asyncio.sleep(RETRY_S)
                continue
            async for step in reading.steps():
                if (change := change_of(step)) is not None and change.offset > last:
                    last = change.offset
                    yield change
            await log.wait(reading.topic, reading.next, WAIT_S)
            if await log.identity(reading.topic) != reading.log_id:
                what = f"topic {reading.topic!r} was replaced"
                raise LogReplaced(f"{what}; start again at its oldest change, with after=-1")
        except OffsetOutOfRange:
            reading = None  # trimmed before it was read: continue from a later snapshot
        except LogUnavailable as error:
            if board.resources.holds(log):
                get_logger().warning("cluster.not_read", reason=str(error))
                await asyncio.sleep(RETRY_S)


async def _begun(board: BoardContext, after: int | None) -> tuple[Reading | None, int]:
    """A reading that has not read what comes after the offset. Without an offset, it has read all there is. None if no
    member has started yet: then every change is new.
    """
    if after is not None:
        return await opened(board, oldest_start), after
    reading = await opened(board)
    if reading is None:
        return None, -1
    await reading.catch_up()
    return reading, reading.next - 1
