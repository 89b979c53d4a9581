"""The extent of a topic at one moment, in the log and in the archive, and whether a range is still there."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from callboard.archive.reader import ArchiveReader
from callboard.archive.topic_archive import TopicArchive
from callboard.backends.address import shown
from callboard.backends.log import Bounds
from callboard.errors import ArchiveDamaged, ConfigError, LogReplaced, OffsetOutOfRange
from callboard.pipeline.source.place import Place


@dataclass(frozen=True, slots=True)
class Extent:
    """The topic ``name`` with the identity ``log_id`` holds ``[first, end)``; the part below ``archived`` is in the
    archive.
    """

    name: str
    log_id: str
    first: int
    end: int
    archived: int = -1

    def check(self, start: int, log_id: str) -> None:
        """Raise ``OffsetOutOfRange`` if records from ``start`` on were lost, ``LogReplaced`` for another log."""
        if log_id and log_id != self.log_id:
            raise LogReplaced(
                f"topic {self.name!r} was replaced since it was read ({self.log_id[:8]} instead of {log_id[:8]}); "
                "start over with a new checkpoint and output"
            )
        if not self.first <= start <= self.end:
            raise OffsetOutOfRange(self.name, start, self.first, self.end)


def look(place: Place) -> Extent:
    """The extent of the topic now. The end is stable: no more records will appear below it.

    Raises the errors of the log and the archive; ``LogReplaced`` if they are not of the same log.
    """
    return asyncio.run(_look(place))


def look_at_archive(place: Place) -> TopicArchive:
    """The files of the archive now. Raises ``ArchiveDamaged``."""
    return asyncio.run(_archive(place, place.topic_name()))


async def _look(place: Place) -> Extent:
    name = place.topic_name()
    if place.sort == "archive":
        found = await _archive(place, name)
        return Extent(name, found.tip.log_id, found.after_holes, found.next, found.next)
    bounds, log_id = await _log(place, name)
    if place.sort == "log":
        return Extent(name, log_id, bounds.first, bounds.end)
    found = await _archive(place, name)
    if found.tip.log_id != log_id:
        raise LogReplaced(
            f"the archive {shown(place.archive)} is of another log than topic {name!r} ({found.tip.log_id[:8]} instead "
            f"of {log_id[:8]}); read one of the two"
        )
    if bounds.first > found.next:
        raise OffsetOutOfRange(name, found.next, bounds.first, bounds.end)
    return Extent(name, log_id, min(found.after_holes, bounds.first), bounds.end, found.next)


async def _log(place: Place, name: str) -> tuple[Bounds, str]:
    log = place.open_log()
    try:
        return await log.bounds(name), await log.identity(name)
    finally:
        await log.close()


async def _archive(place: Place, name: str) -> TopicArchive:
    async with ArchiveReader(place.archive, Path.cwd()) as reader:
        found = await reader.topic(name)
    if found is None:
        raise ArchiveDamaged(f"{shown(place.archive)} has nothing of topic {name!r}; correct its name, or archive it")
    return found


def offset_option(text: str, name: str, extent: Extent) -> int:
    """The offset in an option: earliest, latest or a number. Raises ``ConfigError``."""
    named = {"earliest": extent.first, "latest": extent.end}
    if text in named:
        return named[text]
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"the option {name} is {text!r}; write earliest, latest, or an offset")
    return int(text)
