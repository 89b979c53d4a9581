"""Trims a topic: the low-water mark rises at once, and whole partitions are dropped later.

No row is ever deleted, so nothing needs a vacuum and writers do not wait. Trimmed records free their disk space once
all of their partition is trimmed.
"""

from callboard.backends.log import AHEAD_NS, Retention
from callboard.backends.logs.postgres.reader import bounds
from callboard.backends.postgres.server import Connection

_FIRST = """
    SELECT off FROM records_{{id}} WHERE off >= (SELECT low FROM topics WHERE id = {{id}}) AND {condition}
    ORDER BY off {order} LIMIT 1"""
_OLDEST_YOUNG = _FIRST.format(condition="time_ns BETWEEN $1 AND $2", order="ASC")
_NEWEST_OLD = _FIRST.format(condition="time_ns < $1 AND off < $2", order="DESC")
_OLDEST_WITHIN = _FIRST.format(
    condition="""total - octet_length(payload) - octet_length(headers)
        >= (SELECT total FROM records_{id} ORDER BY off DESC LIMIT 1) - $1""",
    order="ASC",
)
_RAISE = "UPDATE topics SET low = $2 WHERE id = $1 AND low < $2 AND $3 IN ('', identity::text)"


async def trim(db: Connection, topic_id: int, retention: Retention, now_ns: int) -> int:
    """See ``Log.trim``; of another incarnation nothing is removed, without an error."""
    below = await _lowest_staying(db, topic_id, retention, now_ns)
    await db.execute(_RAISE, topic_id, below, retention.log_id)
    await db.execute("SELECT drop_partitions($1)", topic_id)
    return (await bounds(db, topic_id)).first


async def _lowest_staying(db: Connection, topic_id: int, retention: Retention, now_ns: int) -> int:
    """The lowest offset that the retention keeps; the end if everything may be removed."""
    end = (await bounds(db, topic_id)).end
    kept = end if retention.keep_from is None else min(retention.keep_from, end)
    limits = [retention.below_offset or 0]
    if retention.older_than_s is not None:
        since_ns = now_ns - int(retention.older_than_s * 1e9)
        young = await db.fetchval(_OLDEST_YOUNG.format(id=topic_id), since_ns, now_ns + AHEAD_NS)
        old = await db.fetchval(_NEWEST_OLD.format(id=topic_id), since_ns, min(young or kept, kept))
        limits.append(old + 1 if old is not None else 0)
    if retention.above_bytes is not None:
        limits.append(await db.fetchval(_OLDEST_WITHIN.format(id=topic_id), retention.above_bytes) or end)
    return min(max(limits), kept)
