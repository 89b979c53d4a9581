"""A dry run of a retention: what it would remove, and who still needs that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from callboard.backends.log import Capability, Log, Retention
from callboard.backends.logs.limits import record_bytes
from callboard.backends.logs.walk import between
from callboard.board.care.retention_gate import Need, lowest, statuses_from
from callboard.errors import NotSupported
from callboard.messages.record import Record


@dataclass(frozen=True, slots=True)
class Removal:
    """What a topic loses: how many records and bytes, the first offset that stays, and who still needs what goes."""

    topic: str
    records: int
    length: int
    first: int
    missed_by: tuple[Need, ...] = ()


async def plan(
    log: Log, package: str, status: str, wanted: Mapping[str, Retention], needs: Sequence[Need], now_ns: int
) -> list[tuple[Removal, Retention]]:
    """What each topic would lose by its wanted retention, and the retention that removes exactly this.

    Args:
        log: open.
        package: the topic of packages, which must be in ``wanted``.
        status: the topic of statuses, which stay as long as the packages they refer to.
        wanted: the retention of each topic.
        needs: who needs which packages.
        now_ns: the time, in nanoseconds since the epoch.
    """
    removal = await preview(log, package, wanted[package], now_ns)
    missed_by = tuple(need for need in needs if removal.records and need.offset < removal.first)
    found = [(replace(removal, missed_by=missed_by), wanted[package])]
    for topic in [topic for topic in wanted if topic != package]:
        retention = wanted[topic]
        if topic == status:
            statuses = await statuses_from(log, package, status, removal.first, now_ns)
            retention = replace(retention, keep_from=lowest(statuses, retention.keep_from))
        found.append((await preview(log, topic, retention, now_ns), retention))
    return found


async def preview(log: Log, topic: str, retention: Retention, now_ns: int) -> Removal:
    """What ``Log.trim`` would remove at ``now_ns``. Reads the topic from its start to the first record that stays; all
    of it if there is a limit on bytes. Raises ``NotSupported`` where the log does.
    """
    if retention.above_bytes is not None and Capability.TRIM_BYTES not in log.capabilities:
        raise NotSupported(
            f"this log cannot trim topic {topic!r} by bytes; leave this limit (above_mb) out, and let its server do "
            "it: with Kafka, by the topic's retention.bytes"
        )
    first, end = await log.bounds(topic)
    count = length = rest = 0
    if retention.above_bytes is not None:
        rest = sum([record_bytes(record) async for record in between(log, topic, first, end)])
    removal, following = Removal(topic, 0, 0, first), False
    async for record in between(log, topic, first, end):
        if following:
            removal = replace(removal, first=record.offset)
        following = False
        goes = _goes(record, retention, rest, now_ns)
        if goes is False:
            return removal
        size = record_bytes(record)
        count, length, rest = count + 1, length + size, rest - size
        if goes:
            removal, following = Removal(topic, count, length, end), True
    return removal


def _goes(record: Record, retention: Retention, from_here: int, now_ns: int) -> bool | None:
    """Whether a limit allows removing the oldest record; it and all newer ones have ``from_here`` bytes.

    None if it goes together with the next record that goes.
    """
    below, above = retention.below_offset, retention.above_bytes
    if retention.keep_from is not None and record.offset >= retention.keep_from:
        return False
    if (below is not None and record.offset < below) or (above is not None and from_here > above):
        return True
    return retention.too_old(record.time_ns, now_ns)
