"""Keeps a retention from removing what a subscriber, or the archive, still needs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements, LastWord
from callboard.backends.log import AHEAD_NS, Bounds, Log, Retention
from callboard.backends.logs.walk import SKEW_NS, between, first_since
from callboard.board.archive.archive_tip import ArchiveTip, read_tip
from callboard.board.archive.archive_word import tell_log
from callboard.errors import OffsetOutOfRange, RequestRefused, SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.headers import open_record
from callboard.messages.topics import Topics

ARCHIVE = "the archive"
"""The name of the archive in a list of needs."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """Whose needs count.

    ``subscribers`` keeps what a subscriber has not processed, or has quarantined; ``archive`` also keeps what is not
    yet archived, by the file ``archive_tip``. A subscriber counts until a day after it was forgotten, or until it was
    silent for ``gone_days``; each repository under a name counts by itself, so that none can void another's needs.
    """

    kind: Literal["none", "subscribers", "archive"] = "none"
    gone_days: float | None = None
    archive_tip: Path | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """A subscriber or the archive needs the packages from ``offset`` on."""

    name: str
    offset: int


class RetentionGate:
    """Determines the first offset of each topic to keep. Reads the discovery topic once, then only new records.

    Raises ``RequestRefused`` if the archive counts and no file says how far it is.
    """

    def __init__(self, policy: GatePolicy, topics: Topics) -> None:
        if policy.kind == "archive" and policy.archive_tip is None:
            raise RequestRefused(
                'retention.gate = "archive" needs retention.archive_tip; name the file', code="undetermined"
            )
        self._policy = policy
        self._topics = topics
        self._roll = LastAnnouncements(topics.discovery)
        self._told: ArchiveTip | None = None

    @property
    def is_open(self) -> bool:
        """Whether the gate holds nothing back, so that only the limits apply."""
        return self._policy.kind == "none"

    async def needs(self, log: Log, now_ns: int) -> list[Need]:
        """The needs of everyone on the log, the oldest offset first.

        Raises ``RequestRefused`` if they cannot be determined.
        """
        topic, lowest_of = self._topics.package, dict[str, Need]()
        words = await self._counted(log, now_ns)
        bounds, log_id = await log.bounds(topic), await log.identity(topic)
        for word in words:
            said = word.announcement
            offset = await _needed(log, topic, bounds, log_id, word)
            known = lowest_of.get(said.subscriber)
            if known is None or offset < known.offset:
                lowest_of[said.subscriber] = Need(said.subscriber, offset)
        found = list(lowest_of.values())
        if self._policy.kind == "archive":
            found.append(Need(ARCHIVE, self._tip(log_id).offset + 1))
        return sorted(found, key=lambda need: (need.offset, need.name))

    async def keep_from(self, log: Log, now_ns: int) -> dict[str, int]:
        """The first offset of each topic that must stay; topics of which nothing is needed are omitted."""
        if self.is_open:
            return {}
        needs = await self.needs(log, now_ns)
        kept = {self._topics.package: needs[0].offset} if needs else {}
        words = await self._counted(log, now_ns)
        if words:
            kept[self._topics.discovery] = self._roll.first_of(words)
        log_id = await log.identity(self._topics.package)
        pending = await _first_pending(log, self._topics.command, self._roll, log_id)
        if pending is not None:
            kept[self._topics.command] = pending
        for topic, following in (await self._archived(log)).items():
            kept[topic] = min(kept.get(topic, following), following)
        return kept

    async def tell_log(self, log: Log, now_ns: int) -> None:
        """If the archive counts, announce its progress on the log when it has changed. Raises ``RequestRefused``."""
        if self._policy.kind != "archive":
            return
        tip = self._tip(await log.identity(self._topics.package))
        if tip != self._told:
            archived = {**tip.topics, self._topics.package: tip.offset + 1}
            await tell_log(log, self._topics.discovery, str(self._policy.archive_tip), archived, now_ns)
            self._told = tip

    async def _archived(self, log: Log) -> Mapping[str, int]:
        """The first offset that is not archived of each topic other than packages, if the archive counts."""
        return self._tip(await log.identity(self._topics.package)).topics if self._policy.kind == "archive" else {}

    def _tip(self, log_id: str) -> ArchiveTip:
        assert self._policy.archive_tip is not None
        return read_tip(self._policy.archive_tip, log_id)

    async def _counted(self, log: Log, now_ns: int) -> list[LastWord]:
        await self._roll.catch_up(log, now_ns)
        if self._roll.problem:
            raise RequestRefused(
                f"what is still needed is unknown: {self._roll.problem}; upgrade callboard, or trim by hand, with "
                "--force",
                code="undetermined",
            )
        days = self._policy.gone_days
        since_ns = now_ns - int(days * 86_400e9) if days is not None else 0
        return [word for word in self._roll.words if word.heard.seen_ns >= since_ns and not word.lapsed(now_ns)]


async def trim(log: Log, topics: Topics, retention: Retention, kept: Mapping[str, int], now_ns: int) -> dict[str, int]:
    """Remove what the retention allows and nothing needs from every topic; returns the new first offset of each.

    Packages go first. A status stays as long as a package it refers to may exist: error queues and staged subscribers
    depend on it.
    """

    async def trimmed(topic: str, keep_from: int | None) -> int:
        return await log.trim(topic, replace(retention, keep_from=keep_from))

    first = await trimmed(topics.package, kept.get(topics.package))
    statuses = await statuses_from(log, topics.package, topics.status, first, now_ns)
    needed = {topics.status: statuses}
    return {topics.package: first} | {
        topic: await trimmed(topic, lowest(kept.get(topic), needed.get(topic))) for topic in topics.but_packages
    }


def lowest(*offsets: int | None) -> int | None:
    """The lowest of the given offsets; None if there is none."""
    return min((offset for offset in offsets if offset is not None), default=None)


async def _needed(log: Log, topic: str, bounds: Bounds, log_id: str, word: LastWord) -> int:
    """The first offset that a repository needs: the whole log if its position is not on this log, or claims to be past
    records that did not exist when it was announced.
    """
    said = word.announcement
    if said.log_id != log_id or said.offset >= bounds.end:
        return bounds.first
    needed = said.offset + 1 if said.held_offset < 0 else min(said.held_offset, said.offset + 1)
    if needed <= bounds.first:
        return bounds.first
    try:
        passed = await log.read(topic, said.offset, 1)
    except OffsetOutOfRange:  # trimmed in the meantime
        return needed
    came_later = any(
        record.offset == said.offset and record.time_ns - SKEW_NS > word.heard.seen_ns for record in passed
    )
    return bounds.first if came_later else needed


async def _first_pending(log: Log, topic: str, roll: LastAnnouncements, log_id: str) -> int | None:
    """The first command that its subscriber has not answered yet; None if there is none."""
    first, end = await log.bounds(topic)
    async for record in between(log, topic, first, end):
        try:
            command = open_record(record, CommandMessage)
        except (SchemaTooNew, Undecodable):
            continue  # its subscriber reports that it cannot read it, and continues with the next
        if roll.knows(command) and roll.handled_up_to(command, end, log_id) < record.offset:
            return record.offset
    return None


async def statuses_from(log: Log, package: str, status: str, first: int, now_ns: int) -> int | None:
    """The first status that may refer to a package from ``first`` on; None when no package is left.

    It is the first of all if that package is dated in the future: its time then says nothing about when it came.
    """
    try:
        oldest = await log.read(package, first, 1)
    except OffsetOutOfRange:  # another process removed more
        return (await log.bounds(status)).first
    if not oldest:
        return None
    if oldest[0].time_ns > now_ns + AHEAD_NS:
        return (await log.bounds(status)).first
    return await first_since(log, status, oldest[0].time_ns - SKEW_NS)
