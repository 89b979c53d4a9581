"""Reads a topic from its first record on."""

from collections.abc import AsyncGenerator

from callboard.actors.core.lease import ORIGIN
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.errors import RequestRefused, TopicMissing
from callboard.messages.record import Record


async def whole_topic(log: Log, topic: str, to: int | None, *, is_whole: bool = True) -> AsyncGenerator[Record, None]:
    """The records of the topic, up to this offset; none of a topic that does not exist.

    Raises ``RequestRefused`` if the first ones were removed, unless it need not be whole.
    """
    try:
        first, end = await log.bounds(topic)
    except TopicMissing:
        return
    lost = [(ORIGIN, first)] if first > ORIGIN else []
    async for record in between(log, topic, first, end if to is None else min(end, to + 1), lost):
        if lost and is_whole:
            break
        yield record
    if lost and is_whole:
        what = f"the first records of {topic} were removed, up to {lost[0][1] - 1}"
        raise RequestRefused(f"{what}, so nothing can be replayed", code="gone")
