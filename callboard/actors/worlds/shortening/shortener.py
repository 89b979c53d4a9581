"""Shortens topics that grow for as long as subscribers run: to the records still needed, and the newest ones."""

from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from functools import partial

from callboard.actors.core.shortening import Shortened
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements
from callboard.actors.worlds.shortening.last_statuses import LastStatuses
from callboard.actors.worlds.shortening.pending_commands import PendingCommands
from callboard.actors.worlds.shortening.topic_fold import READ_RECORDS, TopicFold
from callboard.backends.log import Capability, Log, Retention
from callboard.backends.logs.limits import record_bytes
from callboard.backends.logs.tail import SharedTail
from callboard.errors import LogReplaced, NotSupported, OffsetOutOfRange
from callboard.messages.record import NewRecord, Record
from callboard.messages.repeated import repeated
from callboard.messages.signing import HEADER as SIGNATURE
from callboard.messages.topics import Topics

ROUNDS = 3
"""Rounds of repeating records that newer ones overtook; the rest is left to the next run."""

BATCH_RECORDS = 200
BATCH_BYTES = 500_000
"""Bytes in one append: half of what every log takes."""

OVERDUE = 1.25
"""A topic is due when its oldest record is this many times older than needed, so that of many checkers one works."""


class Shortener:
    """Repeats the records still needed among the oldest ones, then removes the oldest.

    Any number may run at once, and stop at any moment: each removes only what it has repeated itself, and a record
    repeated twice counts once. The only state kept between runs is when to check again.

    Args:
        log: stays open.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._unread = log.below if isinstance(log, SharedTail) else log  # records read only once need no cache
        self._not_before: dict[str, int] = {}  # by topic, the end from which on shortening may pay off

    async def run(self, topics: Topics, limits: ShorteningLimits, now_ns: int) -> Shortened:
        """Check each topic, which costs next to nothing, and shorten those that are due."""
        if Capability.TRIM not in self._log.capabilities:
            return Shortened()
        wanted_s = {topics.discovery: limits.announced_s, topics.status: limits.told_s, topics.command: limits.told_s}
        due = [topic for topic, age_s in wanted_s.items() if await self._is_due(topic, age_s, limits, now_ns)]
        removed: dict[str, int] = {}
        if not due:
            return Shortened()
        roll = LastAnnouncements(topics.discovery)
        await roll.catch_up(self._unread, now_ns)
        for topic in due:
            fold = await self._fold(topic, topics, roll, now_ns - round(limits.pending_s * 1e9))
            await fold.catch_up(self._unread, now_ns)
            if await self._unread.identity(roll.topic) != roll.log_id:
                raise _replaced(roll.topic)  # and what was asked of its other topics may be of either log
            if problem := fold.problem or roll.problem:
                return Shortened(removed, problem)
            below = min(
                fold.all_but(limits.records),
                fold.older_than(wanted_s[topic]),
                roll.unarchived(topic, fold.next, now_ns - round(limits.pending_s * 1e9)),
            )
            removed[topic] = await self._shorten(fold, fold.last_cut(below), limits, now_ns)
        return Shortened({topic: count for topic, count in removed.items() if count})

    async def _is_due(self, topic: str, age_s: float, limits: ShorteningLimits, now_ns: int) -> bool:
        first, end = await self._unread.bounds(topic)
        if end < self._not_before.get(topic, 0) or end - first < limits.records + limits.slack:
            return False
        try:
            oldest = await self._unread.read(topic, first, 1)
        except OffsetOutOfRange:
            return False  # another process is doing it
        return bool(oldest) and oldest[0].time_ns < now_ns - round(age_s * OVERDUE * 1e9)

    async def _fold(self, topic: str, topics: Topics, roll: LastAnnouncements, pending_ns: int) -> TopicFold:
        if topic == topics.discovery:
            return roll
        if topic == topics.status:
            return LastStatuses(topic, roll.golden(), await self._unread.bounds(topics.package))
        _, end = await self._unread.bounds(topic)
        return PendingCommands(topic, partial(roll.handled_up_to, end=end), pending_ns)

    async def _shorten(self, fold: TopicFold, below: int, limits: ShorteningLimits, now_ns: int) -> int:
        """Remove the records below the offset; return how many."""
        count, log_id = fold.count_below(below), fold.log_id
        for _ in range(ROUNDS):
            needed = sorted(at for at in fold.needed() if at < below)
            if not count or count < 2 * len(needed):
                self._not_before[fold.topic] = fold.next + max(limits.slack, len(needed))
                return 0
            if not needed:
                await self._log.trim(fold.topic, Retention(below_offset=below, keep_from=below, log_id=log_id))
                return count
            await self._repeat(fold, needed, now_ns)
            await fold.catch_up(self._unread, now_ns)
            if fold.log_id != log_id:
                raise _replaced(fold.topic)
        return 0

    async def _repeat(self, fold: TopicFold, needed: Sequence[int], now_ns: int) -> None:
        batch = list[Record]()
        async for record in self._records(fold.topic, needed):
            batch.append(record)
            if len(batch) == BATCH_RECORDS or sum(map(record_bytes, batch)) > BATCH_BYTES:
                await self._append(fold, batch, now_ns)
                batch.clear()
        await self._append(fold, batch, now_ns)

    async def _append(self, fold: TopicFold, batch: Sequence[Record], now_ns: int) -> None:
        """Repeat the records that are still needed, by what is known of the topic now. A record that still has a
        signature when it is read comes from a board whose keys this process does not have.
        """
        if any(record.header(SIGNATURE) for record in batch):
            raise NotSupported(
                f"topic {fold.topic!r} has signed records, and repeating them without a key would void them; set "
                "signing_key here too"
            )
        await fold.catch_up(self._unread, now_ns)
        again: list[NewRecord] = [repeated(record, fold.next) for record in batch if fold.needs(record)]
        if again:
            await self._log.append(fold.topic, again)

    async def _records(self, topic: str, offsets: Sequence[int]) -> AsyncIterator[Record]:
        """The records at these ascending offsets."""
        wanted, position = set(offsets), 0
        while position < len(offsets):
            found = await self._unread.read(topic, offsets[position], READ_RECORDS)
            for record in found:
                if record.offset in wanted:
                    yield record
            position = bisect_right(offsets, found[-1].offset) if found else len(offsets)


def _replaced(topic: str) -> LogReplaced:
    return LogReplaced(f"topic {topic!r} was replaced meanwhile; nothing was removed from the new one")
