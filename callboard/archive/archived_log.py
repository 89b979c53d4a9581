"""A log extended backwards: records that it no longer retains are read from its archive."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator
from itertools import accumulate

from callboard.archive.arrow import pa
from callboard.archive.reader import ArchiveReader, records_in
from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Log
from callboard.backends.logs.limits import record_bytes
from callboard.backends.logs.passing_log import PassingLog
from callboard.errors import LogReplaced, OffsetOutOfRange
from callboard.messages.record import Record


class ArchivedLog(PassingLog):
    """Reads from the log what it retains, and older records from the archive; all else is passed to the log.

    A trim leaves the archive as it is.
    The archive is used only if it reaches up to the log without a hole; otherwise only the log is read.

    Args:
        log: owned by this object from now on.
        reader: of the log's archive; owned as well.
    """

    def __init__(self, log: Log, reader: ArchiveReader) -> None:
        super().__init__(log)
        self._reader = reader
        self._pages: dict[str, _Pages] = {}
        self._bounds: dict[str, Bounds] = {}

    async def read(
        self,
        topic: str,
        start: int,
        max_records: int = READ_RECORDS_MAX,
        max_bytes: int = READ_BYTES_MAX,
    ) -> list[Record]:
        """See ``Log``. Also raises ``ArchiveDamaged``."""
        try:
            return await self._log.read(topic, start, max_records, max_bytes)
        except OffsetOutOfRange as error:
            archived = await self._archived(topic, error.first)
            if not archived.first <= start < archived.end:
                raise OffsetOutOfRange(topic, start, min(archived.first, error.first), error.end) from error
        if topic not in self._pages:
            self._pages[topic] = _Pages(self._reader, topic)
        found = await self._pages[topic].read(start, archived.end, max_records)
        if not found:  # a gap before the log's first record
            return await self._log.read(topic, archived.end, max_records, max_bytes)
        within = sum(total <= max_bytes for total in accumulate(map(record_bytes, found)))
        return found[: max(within, 1)]

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        return start < (await self._log.bounds(topic)).first or await self._log.wait(topic, start, timeout_s)

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``; ``first`` is the archive's."""
        first, end = await self._log.bounds(topic)
        return Bounds(min(first, (await self._archived(topic, first)).first), end)

    async def close(self) -> None:
        """See ``Log``."""
        for pages in self._pages.values():
            await pages.close()
        await self._reader.close()
        await super().close()

    async def _archived(self, topic: str, first: int) -> Bounds:
        """The archived range below ``first``, the log's first; empty if the archive does not reach up to it."""
        known = self._bounds.get(topic, Bounds(0, 0))
        if known.end < first:
            found = await self._reader.topic(topic)
            if found is None:
                return Bounds(first, first)
            if found.tip.log_id != await self._log.identity(topic):
                raise LogReplaced(f"topic {topic!r} is not the one that was archived; name the archive of this log")
            if found.next < first:
                return Bounds(first, first)
            known = self._bounds[topic] = Bounds(found.after_holes, found.next)
        return Bounds(min(known.first, first), first)


class _Pages:
    """The last page read from a topic's archive, and the rows after it, kept open for sequential readers."""

    def __init__(self, reader: ArchiveReader, topic: str) -> None:
        self._reader, self._topic = reader, topic
        self._batches: AsyncGenerator[pa.RecordBatch, None] | None = None
        self._page: list[Record] = []
        self._from = self._next = 0
        self._turn = asyncio.Lock()

    async def read(self, start: int, stop: int, max_records: int) -> list[Record]:
        """Records with offsets in ``[start, stop)``; at least one if there is one."""
        async with self._turn:
            return await self._read(start, stop, max_records)

    async def close(self) -> None:
        """Close the file."""
        if self._batches is not None:
            await self._batches.aclose()
            self._batches = None

    async def _read(self, start: int, stop: int, max_records: int) -> list[Record]:
        if self._batches is None or not self._from <= start <= self._next:
            await self.close()
            self._batches = self._reader.batches(self._topic, start)
            self._from = self._next = start
            self._page = []
        while not self._page or self._page[-1].offset < start:
            batch = await anext(self._batches, None)
            if batch is None:
                return []
            self._page = records_in(batch)
            self._from, self._next = self._next, self._page[-1].offset + 1
        begin = bisect_left(self._page, start, key=lambda record: record.offset)
        return [record for record in self._page[begin : begin + max_records] if record.offset < stop]
