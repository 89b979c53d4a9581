"""Copies a topic from the log into the archive, from where the archive ends to where the log is stable.

The archive itself says how far it is, in the same file that makes records part of it; nothing else remembers a
position. So a run may be killed anywhere: the next one goes on behind what counts. Two runs at once are harmless, for
only one can create the manifest of a range.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from callboard.archive import layout
from callboard.archive.manifest import Link, Manifest, Segment, digest, encode
from callboard.archive.segment import SEGMENT_BYTES, SEGMENT_RECORDS, SegmentWriter, batch_of
from callboard.archive.store import ArchiveStore
from callboard.archive.topic_archive import Tip, find_tip
from callboard.archive.vacuum import ORPHAN_AGE_NS
from callboard.backends.log import READ_RECORDS_MAX, Bounds, Log
from callboard.backends.restorable import Restorable
from callboard.errors import ArchiveBusy, ArchiveHole, BlobMissing, LogReplaced, OffsetOutOfRange
from callboard.logger import get_logger
from callboard.messages.record import Record

COMMIT_WITHIN_NS = ORPHAN_AGE_NS // 2
"""A segment that is older when its manifest is to be written may be vacuumed as an orphan: the run is given up."""


@dataclass(frozen=True, slots=True)
class Archived:
    """What a run did for a topic: records, offsets from ``first`` up to ``next``, files and their bytes."""

    topic: str
    first: int
    next: int
    rows: int = 0
    files: int = 0
    length: int = 0
    hole: bool = False


class Archiver:
    """Archives the topics of one log.

    Args:
        log: open.
        store: open; it remains the caller's.
        topics: all topics of the log, whose ends are noted with every range.
        clock: nanoseconds since the epoch.
        unique: makes a random name of hexadecimal digits, a new one with each call.
        segment_bytes: see ``SEGMENT_BYTES``; a segment may become larger by one row group.
        segment_records: see ``SEGMENT_RECORDS``.
    """

    def __init__(
        self,
        log: Log,
        store: ArchiveStore,
        topics: Sequence[str],
        clock: Callable[[], int],
        unique: Callable[[], str],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        segment_records: int = SEGMENT_RECORDS,
    ) -> None:
        self._log, self._store, self._topics = log, store, tuple(topics)
        self._clock, self._unique = clock, unique
        self._segment_bytes, self._segment_records = segment_bytes, segment_records

    async def run(self, topic: str, *, accept_hole: bool = False) -> AsyncIterator[Archived]:
        """Archive what is new; one report for each manifest that was written.

        Args:
            topic: one of the log's.
            accept_hole: if the log has lost records that are not archived, note that and go on behind them.

        Raises:
            ArchiveHole: the log has lost records that are not archived.
            ArchiveBusy: another process archived the same range meanwhile.
            LogReplaced: the archive is of another log, or the log has lost its newest records.
        """
        log_id = await self._log.identity(topic)
        tip, bounds = await find_tip(self._store, topic), await self._log.bounds(topic)
        if tip is not None:
            await self._check_same_log(topic, tip, log_id, bounds)
            if bounds.first > tip.next:
                if not accept_hole:
                    raise _hole(topic, tip.next, bounds.first)
                get_logger(topic=topic).warning("hole.accepted", first=tip.next, next=bounds.first)
                tip = await self._commit(topic, log_id, tip, tip.next, bounds.first, (), hole=True)
                yield Archived(topic, bounds.first, bounds.first, hole=True)
        elif bounds.first == bounds.end:
            return
        first = tip.next if tip is not None else bounds.first
        with tempfile.TemporaryDirectory(prefix="callboard-archive-") as spool:
            while first < bounds.end:
                begun_ns = self._clock()
                segment, following = await self._segment(topic, first, bounds.end, Path(spool))
                if self._clock() - begun_ns > COMMIT_WITHIN_NS:
                    raise ArchiveBusy(f"topic {topic!r} took too long to archive: run it again")
                files = (segment,) if segment else ()
                tip = await self._commit(topic, log_id, tip, first, following, files)
                yield Archived(
                    topic,
                    first,
                    following,
                    sum(file.rows for file in files),
                    len(files),
                    sum(file.length for file in files),
                )
                first = following

    async def _check_same_log(self, topic: str, tip: Tip, log_id: str, bounds: Bounds) -> None:
        if log_id != tip.log_id and not await self._was_restored(topic, tip, log_id):
            raise LogReplaced(
                f"topic {topic!r} is not the one that was archived in {self._store.place}: it has the identity "
                f"{log_id[:8]} and that one {tip.log_id[:8]}; archive it to another place"
            )
        if bounds.end < tip.next:
            raise LogReplaced(
                f"topic {topic!r} ends at {bounds.end} but is archived up to {tip.next}, so it has lost records; "
                "restore the log from the archive, or archive it to another place"
            )

    async def _was_restored(self, topic: str, tip: Tip, log_id: str) -> bool:
        """Whether this log was restored from this very archive, up to where it ends now."""
        try:
            return await self._store.get(layout.lineage(topic, log_id)) == lineage_note(tip)
        except BlobMissing:
            return False

    async def _segment(self, topic: str, start: int, end: int, spool: Path) -> tuple[Segment | None, int]:
        """The next segment in the store, None for a range without records, and the offset where its range ends."""
        writer = SegmentWriter(spool / "segment.parquet")
        try:
            following = start
            while following < end and self._has_room(writer):
                room = min(READ_RECORDS_MAX, self._segment_records - writer.rows)
                records = await self._read(topic, following, room)
                within = [record for record in records if record.offset < end]
                if not within:
                    following = end
                    break
                keys = {}
                if isinstance(self._log, Restorable):
                    keys = await self._log.keys(topic, within[0].offset, within[-1].offset + 1)
                await asyncio.to_thread(lambda: writer.add(batch_of(within, keys)))  # noqa: B023 - awaited at once
                following = within[-1].offset + 1
            if not writer.rows:
                return None, following
            name = layout.segment(topic, writer.first, self._unique())
            segment = await asyncio.to_thread(writer.finish, name)
            await self._store.put_new(name, writer.path)  # if it is there already, an answer was lost: the name is ours
            return segment, following
        finally:
            writer.abandon()
            writer.path.unlink(missing_ok=True)

    def _has_room(self, writer: SegmentWriter) -> bool:
        return writer.length < self._segment_bytes and writer.rows < self._segment_records

    async def _read(self, topic: str, start: int, max_records: int) -> list[Record]:
        try:
            return await self._log.read(topic, start, max_records)
        except OffsetOutOfRange as error:
            if error.first > start:  # trimmed under us
                raise _hole(topic, start, error.first) from error
            raise

    async def _commit(
        self,
        topic: str,
        log_id: str,
        tip: Tip | None,
        first: int,
        following: int,
        files: tuple[Segment, ...],
        *,
        hole: bool = False,
    ) -> Tip:
        """Make the range a part of the archive."""
        vector = {each: (await self._log.bounds(each)).end for each in self._topics if each != topic}
        if await self._log.identity(topic) != log_id:
            raise LogReplaced(f"topic {topic!r} was replaced while it was read; run it again")
        content = encode(
            Manifest(
                topic=topic,
                log_id=log_id,
                first=first,
                next=following,
                previous=tip.last if tip else None,
                files=files,
                vector=vector,
                time_ns=self._clock(),
                hole=hole,
            )
        )
        name = layout.manifest(topic, first)
        if not await self._store.put_new(name, content) and await self._store.get(name) != content:
            raise ArchiveBusy(
                f"another process archived topic {topic!r} from offset {first} on in {self._store.place}; leave it to "
                "that one, or run this again when it has ended"
            )
        get_logger(topic=topic).info("range.archived", first=first, next=following, hole=hole)
        return Tip(log_id, Link(next=following, sha256=digest(content)))


def lineage_note(tip: Tip) -> bytes:
    """What is noted for a log that was restored from the archive when it had this tip."""
    return f"{tip.log_id} {tip.last.next} {tip.last.sha256}\n".encode()


def _hole(topic: str, first: int, following: int) -> ArchiveHole:
    return ArchiveHole(
        f"ARCHIVE HOLE: topic {topic!r} was trimmed up to {following}, but is archived only up to {first}; archive "
        "another copy of this log first if there is one, or accept the loss with --accept-hole"
    )
