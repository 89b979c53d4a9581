"""Appends records together with the caller's own changes: both are committed, or neither is."""

import time
from collections.abc import Callable, Sequence

from callboard.backends.logs.limits import missing, to_rows
from callboard.backends.logs.postgres.append import append_rows, digest_of
from callboard.backends.postgres.server import Connection
from callboard.messages.record import NewRecord


async def append_within(
    connection: Connection,
    topic: str,
    records: Sequence[NewRecord],
    *,
    schema: str = "callboard",
    clock: Callable[[], int] = time.time_ns,
) -> list[int]:
    """Append to a log in the same database, in the caller's open transaction.

    The records become readable when it commits; after a rollback there are none. Until then every other append to the
    topic waits, so commit soon. To append to several topics, use the same order of topics everywhere.

    Args:
        connection: an asyncpg connection of the caller, in a READ COMMITTED transaction.
        topic: an existing one.
        records: as for ``Log.append``.
        schema: where the log is.
        clock: nanoseconds since the epoch, for the records' times.

    Returns:
        The offsets, in the order of the records.

    Raises:
        ConfigError: for another isolation level.
        RecordTooLarge: before anything is written.
        TopicMissing: for a topic that was never ensured.
        asyncpg.PostgresError: any other failure of the transaction, which can then only be rolled back.
    """
    rows, _ = to_rows(topic, records, digest_of)
    topic_id = await connection.fetchval(f"SELECT id FROM {schema}.topics WHERE name = $1", topic)  # noqa: S608
    if topic_id is None:
        raise missing(topic)
    return await append_rows(connection, f"{schema}.append_{topic_id}", rows, clock())
