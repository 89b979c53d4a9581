"""Restores a topic to a log: the same records under the same offsets.

The log or the restoration may be killed: the next attempt compares what is on the log with the archive, and resumes
after it. Only a log that nothing else writes to can be restored into.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from callboard.archive.files import layout
from callboard.archive.files.chain import lineage_note
from callboard.archive.reader import ArchiveReader
from callboard.archive.store import ArchiveStore
from callboard.archive.topic_archive import TopicArchive
from callboard.backends.log import Log
from callboard.backends.logs.restorable import Restorable
from callboard.errors import NotSupported, RequestRefused
from callboard.messages.record import Record


@dataclass(frozen=True, slots=True)
class Restored:
    """Records restored up to the offset ``next``; ``left`` are still to come."""

    topic: str
    next: int
    rows: int
    left: int


async def restore(store: ArchiveStore, log: Log, topic: str, *, same_identity: bool = False) -> AsyncIterator[Restored]:
    """Restore all archived records of the topic after the last accepted hole; yield a report for each batch.

    Args:
        store: the archive, open.
        log: open, and without records.
        topic: of the log; it is created.
        same_identity: the log replaces the archived one, which must be gone for good: subscribers resume at their
            positions. Otherwise it is another log, on which they have no position.

    Raises:
        NotSupported: the log assigns its own offsets.
        RequestRefused: the log has other records, or another process is appending to it.
        ArchiveDamaged: a file is missing or altered.
    """
    if not isinstance(log, Restorable):
        raise NotSupported(
            "this log assigns its own offsets, but positions, statuses and commands name records by their old ones; "
            "restore the archive into a log of SQLite or PostgreSQL"
        )
    await log.ensure(topic)
    reader = ArchiveReader(store)
    found = await reader.topic(topic)
    if found is None or await _is_whole(log, topic, found):
        return
    start = await _resume_at(reader, log, topic, found)
    left = sum(file.rows for file in found.files if file.first >= start)
    async for returned in reader.read_with_keys(topic, start, found.next):
        if not await log.put_back(topic, returned):
            raise RequestRefused(
                f"another process appends to topic {topic!r}, or its offsets were assigned before; stop every process "
                "of this board and restore into an empty log",
                code="mismatch",
            )
        left = max(0, left - len(returned))
        yield Restored(topic, returned[-1].record.offset + 1, len(returned), left)
    if not same_identity:
        await store.put_new(layout.lineage(topic, await log.identity(topic)), lineage_note(found.tip))
    await log.complete(topic, found.tip.log_id if same_identity else "", found.after_holes, found.next)


async def _is_whole(log: Log, topic: str, found: TopicArchive) -> bool:
    """Whether the log already has everything that is archived."""
    bounds = await log.bounds(topic)
    return await log.identity(topic) == found.tip.log_id and bounds.end >= found.next and bounds.first <= found.next


async def _resume_at(reader: ArchiveReader, log: Log, topic: str, found: TopicArchive) -> int:
    """The first offset to restore. Raises ``RequestRefused`` for a log that is not a prefix of the archive."""
    bounds = await log.bounds(topic)
    if bounds.first == bounds.end:
        if bounds.end > found.after_holes and found.rows:
            raise RequestRefused(
                f"topic {topic!r} has already assigned offsets up to {bounds.end}; restore into an empty log",
                code="mismatch",
            )
        return found.after_holes
    oldest = (await log.read(topic, bounds.first, 1))[0]
    newest = await _newest_archived(log, topic, min(bounds.end, found.next))
    for record, start, stop in (
        (oldest, found.after_holes, oldest.offset + 1),
        (newest, newest.offset, newest.offset + 1),
    ):
        archived = None
        if start < stop <= found.next:
            async for each in reader.read(topic, start, stop):
                archived = each
                break
        if archived != record:
            raise RequestRefused(
                f"topic {topic!r} has a record at offset {record.offset} that is not from this archive; restore into "
                "an empty log",
                code="mismatch",
            )
    return newest.offset + 1


async def _newest_archived(log: Log, topic: str, end: int) -> Record:
    """The newest record below ``end``, found by bisection, since offsets have gaps."""
    low, high = (await log.bounds(topic)).first, end
    found = (await log.read(topic, low, 1))[0]
    while low < high:
        middle = (low + high) // 2
        records = await log.read(topic, middle, 1)
        if records and records[0].offset < end:
            found, low = records[0], records[0].offset + 1
        else:
            high = middle
    return found
