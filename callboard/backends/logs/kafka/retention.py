"""Removes old records."""

from aiokafka.protocol.admin import DeleteRecordsRequest

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Retention
from callboard.backends.logs.kafka.chunk import NS_PER_MS
from callboard.backends.logs.kafka.client.cluster import Cluster
from callboard.backends.logs.kafka.client.failure import OUT_OF_RANGE, refused
from callboard.backends.logs.kafka.reader import Reader
from callboard.errors import NotSupported, OffsetOutOfRange


async def trim(cluster: Cluster, reader: Reader, name: str, retention: Retention, now_ns: int) -> int:
    """See ``Log.trim``; raises ``NotSupported`` for a limit in bytes."""
    topic = await cluster.find(name)
    if retention.above_bytes is not None:
        raise NotSupported(
            f"a Kafka log cannot trim topic {name!r} by bytes, since Kafka does not report the size of records; leave "
            "this limit out, and set the topic's retention.bytes, by which the brokers remove whole segments"
        )
    first, end = await reader.bounds(topic)
    below = first
    if retention.below_offset is not None:
        below = max(below, min(retention.below_offset, end))
    if retention.older_than_s is not None:
        oldest_ms = -(-(now_ns - int(retention.older_than_s * 1e9)) // NS_PER_MS)  # rounded up: older, not equal
        since = await reader.first_since(topic, max(0, oldest_ms))
        kept = end if retention.keep_from is None else min(retention.keep_from, end)
        # If times do not increase, brokers may report none although one exists: then check all records.
        since = since if since >= 0 else first
        below = max(below, await _behind_old(reader, name, since, kept, retention, now_ns))
    if retention.keep_from is not None:
        below = min(below, retention.keep_from)
    if retention.log_id:  # the request names no incarnation, so look as late as possible
        cluster.forget(name)
        topic = await cluster.find(name)
        retention.check(name, topic.identity)
    if below > first:
        request = DeleteRecordsRequest([(name, [(0, below)])], cluster.timeout_ms)
        _, _, error, *_ = await cluster.ask(topic, request, "any", error_at=2)
        if error and error != OUT_OF_RANGE:  # otherwise another process removed more
            raise refused(error, name)
        reader.drop_ahead()
    return (await reader.bounds(topic)).first


async def _behind_old(reader: Reader, name: str, since: int, kept: int, retention: Retention, now_ns: int) -> int:
    """The offset after the last record below ``kept`` that is too old; every record before ``since`` is.

    Brokers consider a record dated ahead young, so this also checks the records after it.
    """
    below = position = since
    while position < kept:
        try:
            records = await reader.read(name, position, READ_RECORDS_MAX, READ_BYTES_MAX)
        except OffsetOutOfRange:  # another process removed more
            return below
        for record in records:
            old = retention.too_old(record.time_ns, now_ns)
            position = record.offset + 1
            if old is False or position > kept:
                return below
            if old:
                below = position
        if not records:
            return below
    return below
