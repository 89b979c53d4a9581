"""Follows a topic, for services that act on what is appended to it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from callboard.backends.log import Log
from callboard.board.context import BoardContext
from callboard.errors import LogReplaced, LogUnavailable, OffsetOutOfRange
from callboard.logger import get_logger
from callboard.messages.record import Record

WAIT_S = 10.0
"""Seconds of one wait for more records; then it waits again."""

RETRY_S = 1.0


async def following(
    board: BoardContext, log: Log, topic: str, log_id: str, start: int, *, follow: bool
) -> AsyncGenerator[Record, None]:
    """The records from ``start`` on: up to the newest or, with ``follow``, until the board closes the log.

    Raises ``LogReplaced`` if the topic is not ``log_id`` any more, ``OffsetOutOfRange`` if records were trimmed before
    they were read, and without ``follow`` ``LogUnavailable``.
    """
    while board.resources.holds(log):
        try:
            found = await _read(log, topic, log_id, start)
            if not found and follow:
                await log.wait(topic, start, WAIT_S)
        except LogUnavailable as error:
            if not follow:
                raise
            if board.resources.holds(log):
                get_logger().warning("events.not_read", reason=str(error))
                await asyncio.sleep(RETRY_S)
            continue
        if not found and not follow:
            return
        for record in found:
            start = record.offset + 1
            yield record


async def _read(log: Log, topic: str, log_id: str, start: int) -> Sequence[Record]:
    trimmed, found = None, tuple[Record, ...]()
    try:
        found = tuple(await log.read(topic, start))
    except OffsetOutOfRange as error:
        trimmed = error
    if await log.identity(topic) != log_id:
        raise LogReplaced(f"topic {topic!r} was replaced; start again at its oldest event")
    if trimmed is not None:
        raise trimmed
    return found
