"""Restores records under their own offsets, for an archive; see ``Restorable``."""

import re
from collections.abc import Sequence
from itertools import accumulate

from callboard.backends.logs.limits import record_bytes
from callboard.backends.logs.postgres.append import digest_of
from callboard.backends.logs.restorable import Key, Returned, are_behind
from callboard.backends.postgres.server import Connection
from callboard.errors import NotSupported

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KEYS = """
    SELECT off, key FROM records_{id}
    WHERE off >= greatest($1, (SELECT low FROM topics WHERE id = {id})) AND off < $2 AND key IS NOT NULL"""
_LOCK = "SELECT pg_advisory_xact_lock(1128419140, {id})"
_GIVEN = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM offsets_{id}"
_TOTAL = "SELECT total FROM records_{id} ORDER BY off DESC LIMIT 1"
# Otherwise a partition would be made for every hundred thousand offsets from 1 on. Only before the first record.
_BEGIN_ROOM = """
    UPDATE topics SET room = $1::bigint - ($1::bigint - 1) % partition_size
    WHERE id = {id} AND room < $1 AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'records_{id}'::regclass)"""
_INSERT = """
    INSERT INTO records_{id}(off, time_ns, total, key, headers, payload)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[])"""


async def keys(db: Connection, topic_id: int, start: int, stop: int) -> dict[int, Key]:
    """The digests of the keys of the records in this range; the keys themselves are not stored."""
    return {row[0]: bytes(row[1]) for row in await db.fetch(_KEYS.format(id=topic_id), start, stop)}


async def put_back(db: Connection, topic_id: int, records: Sequence[Returned]) -> bool:
    """Write the records; False unless all of them are above every offset that the topic has assigned."""
    if not records:
        return True
    async with db.transaction():
        await db.execute(_LOCK.format(id=topic_id))
        if not are_behind(records, await db.fetchval(_GIVEN.format(id=topic_id)) + 1):
            return False
        first, last = records[0].record.offset, records[-1].record.offset
        await db.execute(_BEGIN_ROOM.format(id=topic_id), first)
        await db.execute("SELECT make_room($1, $2)", topic_id, last)
        total = await db.fetchval(_TOTAL.format(id=topic_id)) or 0
        await db.execute(
            _INSERT.format(id=topic_id),
            [record.offset for record, _ in records],
            [record.time_ns for record, _ in records],
            list(accumulate((record_bytes(record) for record, _ in records), initial=total))[1:],
            [digest_of(key) if isinstance(key, str) else key for _, key in records],
            [record.header_block for record, _ in records],
            [record.payload for record, _ in records],
        )
        await db.execute(f"SELECT setval('offsets_{topic_id}', $1)", last)
    return True


async def complete(db: Connection, topic_id: int, identity: str, first: int, end: int) -> None:
    """Set the topic's first offset and identity, and have offsets continue at ``end``.

    Raises ``NotSupported`` for an identity that this log cannot have.
    """
    if identity and not _UUID.fullmatch(identity):
        raise NotSupported(
            f"a log in PostgreSQL cannot have the identity {identity}, which is that of another kind of log; "
            "restore it with an identity of its own"
        )
    async with db.transaction():
        await db.execute(_LOCK.format(id=topic_id))
        given = await db.fetchval(_GIVEN.format(id=topic_id))
        if end > given + 1:
            await db.execute(f"SELECT setval('offsets_{topic_id}', $1)", end - 1)
        await db.execute("UPDATE topics SET low = greatest(low, $2) WHERE id = $1", topic_id, first)
        if identity:
            await db.execute("UPDATE topics SET identity = $2::text::uuid WHERE id = $1", topic_id, identity)
