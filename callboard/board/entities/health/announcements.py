"""Reads what folds announce on the discovery topic."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from callboard.actors.publisher.fleet.liveness import AppendTimes
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.errors import SchemaTooNew, TopicMissing, Undecodable
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.untrusted import distrust_of

LOOK_BACK = 20_000
"""Newest offsets that are read: as many as shortening leaves. At four announcements a minute, 50 folds announce them in
an hour and a half."""

FOLDS_MAX = 2000
"""Folds that are known at once; those silent for longest are dropped first. Any process can announce thousands."""

SILENT_INTERVALS = 3
INTERVAL_S_MAX = 300
"""A longer claim is not believed: a dead fold would count as live for too long."""

GONE_S = 86_400.0
"""A fold silent for longer is not shown any more: its host was removed."""


@dataclass(frozen=True, slots=True)
class HeardFold:
    """The newest announcement of an incarnation, and when it was appended; its offset, and that of the first one."""

    said: FoldAnnouncementMessage
    seen_ns: int
    offset: int
    first: int

    def silence_s(self, now_ns: int) -> float:
        """Seconds since its announcement."""
        return max(0.0, (now_ns - self.seen_ns) / 1e9)

    def is_silent(self, now_ns: int) -> bool:
        """Whether it has missed some announcements."""
        interval_s = min(max(self.said.interval_s, 1), INTERVAL_S_MAX)
        return self.silence_s(now_ns) > SILENT_INTERVALS * interval_s


class FoldAnnouncements:
    """The newest announcement of each fold. Each question reads on where the last one ended."""

    def __init__(self, log: Log, topic: str) -> None:
        self.log = log
        self._topic = topic
        self._lock = asyncio.Lock()
        self._log_id = ""
        self._begin()

    def _begin(self) -> None:
        self._next = 0
        self._times = AppendTimes()
        self._heard: dict[str, HeardFold] = {}  # by incarnation, the newest last

    async def catch_up(self, now_ns: int) -> None:
        """Read on to the end of the topic."""
        async with self._lock:
            try:
                log_id = await self.log.identity(self._topic)
                first, end = await self.log.bounds(self._topic)
            except TopicMissing:
                self._begin()
                return
            if log_id != self._log_id or end < self._next:
                self._log_id = log_id
                self._begin()
            start = max(self._next, first, end - LOOK_BACK)
            async for record in between(self.log, self._topic, start, end):
                self._take(record, now_ns)
            self._next = end

    def _take(self, record: Record, now_ns: int) -> None:
        if distrust_of(record):
            return
        seen_ns = self._times.take(record, now_ns)
        if record.header("type") != FoldAnnouncementMessage.__name__:
            return
        try:
            said = open_record(record, FoldAnnouncementMessage)
        except (SchemaTooNew, Undecodable):
            return
        known = self._heard.pop(said.incarnation, None)
        self._heard[said.incarnation] = HeardFold(said, seen_ns, record.offset, known.first if known else record.offset)
        if len(self._heard) > FOLDS_MAX:
            del self._heard[next(iter(self._heard))]

    def running(self, now_ns: int) -> Iterator[HeardFold]:
        """Those that have not ended. A silent one is left out if another one was started in its place after that, and
        if it has been silent for very long.
        """
        last_starts: dict[tuple[str, str, str], int] = {}
        for each in self._heard.values():
            last_starts[_place(each)] = max(each.first, last_starts.get(_place(each), -1))
        for each in self._heard.values():
            is_replaced = each.is_silent(now_ns) and last_starts[_place(each)] > each.offset
            if not each.said.ended and not is_replaced and each.silence_s(now_ns) <= GONE_S:
                yield each


def _place(heard: HeardFold) -> tuple[str, str, str]:
    return heard.said.kind, heard.said.name, heard.said.instance
