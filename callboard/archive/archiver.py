"""Copies a topic from the log into the archive, from the end of the archive to the stable end of the log."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing

from callboard.archive.files.chain import Archived, Chain
from callboard.archive.files.segment import SEGMENT_BYTES, SEGMENT_RECORDS
from callboard.archive.files.segmentation import log_rows, segments
from callboard.archive.store import ArchiveStore
from callboard.backends.log import READ_RECORDS_MAX, Log


class Archiver:
    """Archives the topics of one log, in this process.

    Args:
        log: open.
        store: open; the caller closes it.
        topics: all topics of the log; each manifest notes their ends.
        clock: nanoseconds since the epoch.
        unique: returns a new random hexadecimal name with each call.
        segment_bytes: see ``SEGMENT_BYTES``; a segment may exceed it by one row group.
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
        """Archive the new records; yield a report for each manifest written.

        Args:
            topic: one of the log's.
            accept_hole: if the log has trimmed records that are not archived, note the hole and continue after it.

        Raises:
            ArchiveHole: the log has trimmed records that are not archived.
            ArchiveBusy: another process archived the same range.
            LogReplaced: the archive is of another log, or the log has lost its newest records.
        """
        chain = await Chain.of(self._log, self._store, topic, self._topics, self._clock)
        if (crossed := await chain.cross_hole(accept=accept_hole)) is not None:
            yield crossed
        begun_ns = self._clock()
        page_records = min(READ_RECORDS_MAX, self._segment_records)  # a segment is then put before more is read
        rows = log_rows(self._log, topic, chain.next, chain.end, page_records)
        made = segments(
            self._store, topic, rows, lambda _: self._unique(),
            segment_bytes=self._segment_bytes, segment_records=self._segment_records,
        )  # fmt: skip
        async with aclosing(made):
            async for segment, last in made:
                yield await chain.append(chain.end if last else segment.last + 1, (segment,), begun_ns)
                begun_ns = self._clock()
        if chain.next < chain.end:  # offsets without records
            yield await chain.append(chain.end, (), begun_ns)
