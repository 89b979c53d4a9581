"""The manifests of a topic, each linked to the one before: where the archive ends, and how a run extends it.

A manifest both adds records to the archive and says how far it reaches; no position is stored elsewhere. An archiver
may be killed at any point: the next run resumes after the last manifest. Two at once are harmless, since only one can
create the manifest of a range.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from callboard.archive.files import layout
from callboard.archive.files.manifest import Link, Manifest, Segment, digest, encode
from callboard.archive.store import ArchiveStore
from callboard.archive.topic_archive import Tip, find_tip
from callboard.archive.vacuum import ORPHAN_AGE_NS
from callboard.backends.log import Bounds, Log
from callboard.errors import ArchiveBusy, ArchiveHole, BlobMissing, LogReplaced
from callboard.logger import get_logger

COMMIT_WITHIN_NS = ORPHAN_AGE_NS // 2
"""If a segment is older than this when its manifest is due, vacuum may treat it as an orphan: the run gives up."""


@dataclass(frozen=True, slots=True)
class Archived:
    """The result of a run for a topic: records, offsets in ``[first, next)``, files and their bytes."""

    topic: str
    first: int
    next: int
    rows: int = 0
    files: int = 0
    length: int = 0
    hole: bool = False


class Chain:
    """The end of a topic's archive, to which one run adds ranges. Create it with ``of``."""

    def __init__(self, log: Log, store: ArchiveStore, topic: str, topics: Sequence[str], clock: Callable[[], int]):
        self._log, self._store, self._topic, self._topics, self._clock = log, store, topic, topics, clock
        self._tip: Tip | None = None
        self._bounds = Bounds(0, 0)
        self.log_id = ""

    @classmethod
    async def of(
        cls, log: Log, store: ArchiveStore, topic: str, topics: Sequence[str], clock: Callable[[], int]
    ) -> Self:
        """The chain as it is now, with the log's current stable end.

        Args:
            log: open.
            store: open.
            topic: one of the log's.
            topics: all topics of the log; each manifest notes their ends.
            clock: nanoseconds since the epoch.

        Raises:
            LogReplaced: the archive is of another log, or the log has lost its newest records.
        """
        chain = cls(log, store, topic, topics, clock)
        chain.log_id = await log.identity(topic)
        chain._tip, chain._bounds = await find_tip(store, topic), await log.bounds(topic)
        if chain._tip is not None:
            await chain._check_same_log(chain._tip)
        return chain

    @property
    def next(self) -> int:
        """Where the next range begins."""
        return self._tip.next if self._tip is not None else self._bounds.first

    @property
    def end(self) -> int:
        """The stable end of the log when the chain was read."""
        return self._bounds.end

    async def cross_hole(self, *, accept: bool) -> Archived | None:
        """Note a hole if the log has trimmed records that are not archived; returns what was noted.

        Raises ``ArchiveHole`` unless ``accept`` is set.
        """
        first, following = self.next, self._bounds.first
        if following <= first:
            return None
        if not accept:
            raise hole(self._topic, first, following)
        get_logger(topic=self._topic).warning("hole.accepted", first=first, next=following)
        await self._commit(following, (), hole=True)
        return Archived(self._topic, following, following, hole=True)

    async def append(self, following: int, files: Sequence[Segment], begun_ns: int) -> Archived:
        """Commit the records in ``[next, following)`` to the archive.

        Args:
            following: where the range ends.
            files: the segments with all records of the range, already in the store.
            begun_ns: when the first of them was begun, by the clock.

        Raises:
            ArchiveBusy: another process archived the same range, or this one took too long.
            LogReplaced: the log was replaced since.
        """
        first = self.next
        if self._clock() - begun_ns > COMMIT_WITHIN_NS:
            raise ArchiveBusy(f"topic {self._topic!r} took too long to archive: run it again")
        await self._commit(following, tuple(files))
        rows, length = sum(file.rows for file in files), sum(file.length for file in files)
        return Archived(self._topic, first, following, rows, len(files), length)

    async def _check_same_log(self, tip: Tip) -> None:
        topic, end = self._topic, self._bounds.end
        if self.log_id != tip.log_id and not await self._was_restored(tip):
            raise LogReplaced(
                f"topic {topic!r} is not the one that was archived in {self._store.place}: its identity is "
                f"{self.log_id[:8]} instead of {tip.log_id[:8]}; archive it to another place"
            )
        if end < tip.next:
            raise LogReplaced(
                f"topic {topic!r} ends at {end} but is archived up to {tip.next}, so it has lost records; "
                "restore the log from the archive, or archive it to another place"
            )

    async def _was_restored(self, tip: Tip) -> bool:
        """Whether this log was restored from this very archive, up to its current end."""
        try:
            return await self._store.get(layout.lineage(self._topic, self.log_id)) == lineage_note(tip)
        except BlobMissing:
            return False

    async def _commit(self, following: int, files: tuple[Segment, ...], *, hole: bool = False) -> None:
        topic, first = self._topic, self.next
        vector = {each: (await self._log.bounds(each)).end for each in self._topics if each != topic}
        if await self._log.identity(topic) != self.log_id:
            raise LogReplaced(f"topic {topic!r} was replaced while it was read; run it again")
        content = encode(
            Manifest(
                topic=topic,
                log_id=self.log_id,
                first=first,
                next=following,
                previous=self._tip.last if self._tip else None,
                files=files,
                vector=vector,
                time_ns=self._clock(),
                hole=hole,
            )
        )
        name = layout.manifest(topic, first)
        if not await self._store.put_new(name, content) and await self._store.get(name) != content:
            raise ArchiveBusy(
                f"another process archived topic {topic!r} from offset {first} on in {self._store.place}; let it "
                "finish, or run this again afterwards"
            )
        get_logger(topic=topic).info("range.archived", first=first, next=following, hole=hole)
        self._tip = Tip(self.log_id, Link(next=following, sha256=digest(content)))


def lineage_note(tip: Tip) -> bytes:
    """The note about a log that was restored from the archive at this tip."""
    return f"{tip.log_id} {tip.last.next} {tip.last.sha256}\n".encode()


def hole(topic: str, first: int, following: int) -> ArchiveHole:
    """The error for records in ``[first, following)`` that are neither on the log nor archived."""
    return ArchiveHole(
        f"ARCHIVE HOLE: topic {topic!r} was trimmed up to {following}, but is archived only up to {first}; archive "
        "another copy of this log first if there is one, or accept the loss with --accept-hole"
    )
