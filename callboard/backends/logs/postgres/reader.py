"""Reads a topic. One statement is one snapshot; offsets come in order of the primary key under any plan."""

from callboard.backends.log import Bounds
from callboard.backends.postgres.server import Connection
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import Record, records_of

# Records below low are trimmed, though perhaps not dropped yet.
_PAGE = """
    SELECT off, time_ns, payload, headers, total FROM records_{id}
    WHERE off >= greatest($1, (SELECT low FROM topics WHERE id = {id})) ORDER BY off LIMIT $2"""

# The first record of the page, however large, and those after it while their total is within max_bytes.
# The page is sorted, and a filter keeps the order.
READ = f"""
    SELECT off, time_ns, payload, headers FROM ({_PAGE}) AS page
    WHERE total <= (
        SELECT total + greatest($3 - octet_length(payload) - octet_length(headers), 0) FROM ({_PAGE}) AS page LIMIT 1
    )"""  # noqa: S608 - a number of ours is all that comes in
_NEWEST = "SELECT max(off) FROM records_{id} WHERE off >= (SELECT low FROM topics WHERE id = {id})"
_BOUNDS = "SELECT low, (SELECT max(off) FROM records_{id} WHERE off >= low) FROM topics WHERE id = {id}"


async def read(db: Connection, topic_id: int, topic: str, start: int, max_records: int, max_bytes: int) -> list[Record]:
    """See ``Log.read``."""
    rows = await db.fetch(READ.format(id=topic_id), start, max_records, max_bytes)
    if not rows or rows[0][0] != start:
        # a gap, the end, or out of range; changes since the query do no harm
        first, end = await bounds(db, topic_id)
        if not first <= start <= end:
            raise OffsetOutOfRange(topic, start, first, end)
    return records_of(map(tuple, rows))


async def holds(db: Connection, topic_id: int, start: int) -> bool:
    """Whether there is a record with an offset of at least ``start``."""
    newest = await db.fetchval(_NEWEST.format(id=topic_id))
    return newest is not None and newest >= start


async def bounds(db: Connection, topic_id: int) -> Bounds:
    """See ``Log.bounds``.

    ``first`` is the low-water mark and not the oldest record: a reader at the end of an empty topic stays in range even
    when the first append there is rolled back and leaves a gap.
    """
    low, newest = await db.fetchrow(_BOUNDS.format(id=topic_id)) or (1, None)
    return Bounds(low, low if newest is None else newest + 1)
