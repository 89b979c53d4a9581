"""Translates offsets between the log that a relay reads and that of its site, by what is on the site's log."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple

from callboard.backends.log import Log
from callboard.backends.logs.walk import WINDOW_OFFSETS, backwards, between
from callboard.messages.record import Record
from callboard.messages.relayed import origin_of


class Relayed(NamedTuple):
    """A package that was relayed: its record at the site, and its offset on the log that the relay reads."""

    record: Record
    source_offset: int


@dataclass(frozen=True, slots=True)
class Offsets:
    """The packages that ``relay`` appended to ``log`` from the package log ``source``, in the order of both."""

    log: Log
    topic: str
    relay: str
    source: str

    async def since(self, start: int, end: int | None = None) -> AsyncIterator[Relayed]:
        """Those in ``[start, end)`` of the site's log, up to its present end if none is given, oldest first."""
        end = (await self.log.bounds(self.topic)).end if end is None else end
        async for record in between(self.log, self.topic, start, end):
            if (found := self._relayed(record)) is not None:
                yield found

    async def first_since(self, start: int) -> Relayed | None:
        """The first one from this offset of the site's log on; it is likely to be there, so little is read at first."""
        (first, end), window = await self.log.bounds(self.topic), 1
        start = max(start, first)  # one that is at a gap, or makes things up, may be far below
        while start < end:
            async for found in self.since(start, min(end, start + window)):
                return found
            start, window = start + window, min(2 * window, WINDOW_OFFSETS)
        return None

    async def processed(self, offset: int, *, otherwise: int) -> int:
        """The last offset of the source that one at this offset of the site's log has; or this if it lacks none."""
        lacks = await self.first_since(offset + 1)
        return lacks.source_offset - 1 if lacks is not None else otherwise

    async def at(self, offset: int) -> Relayed | None:
        """The one at this offset of the site's log; None if there is none."""
        return await anext(self.since(offset, offset + 1), None)

    async def last(self, before: int | None = None) -> Relayed | None:
        """The newest one, or the newest one before this offset of the site's log."""
        first, end = await self.log.bounds(self.topic)
        async for record in backwards(self.log, self.topic, first, end if before is None else min(before, end)):
            if (found := self._relayed(record)) is not None:
                return found
        return None

    async def other(self) -> str:
        """Another relay that appended packages of the source; empty if there is none."""
        first, end = await self.log.bounds(self.topic)
        async for record in backwards(self.log, self.topic, first, end):
            came = origin_of(record)
            if came is not None and came.relay != self.relay and came.last[0] == self.source:
                return came.relay
        return ""

    async def first_from_source(self, offset: int) -> Relayed | None:
        """The first one whose offset on the source is at least this."""
        low, high = await self.log.bounds(self.topic)
        while low < high:
            middle = (low + high) // 2
            found = await self.first_since(middle)
            if found is not None and found.source_offset < offset:
                low = found.record.offset + 1
            else:
                high = middle
        return await self.first_since(low)

    def _relayed(self, record: Record) -> Relayed | None:
        came = origin_of(record)
        if came is None or came.relay != self.relay or came.last[0] != self.source:
            return None
        return Relayed(record, came.last[1])
