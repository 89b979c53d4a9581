"""Bugs in what is trimmed from topics that grow by themselves."""

from typing import Any

from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements
from callboard.actors.worlds.shortening.last_statuses import LastStatuses
from callboard.actors.worlds.shortening.pending_commands import PendingCommands
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.backends.log import Retention
from callboard.testing.simulation.planted.patch import Patch

SILENT_NS = 3 * 10**9


async def _hasty(right: Any, self: Shortener, fold: Any, below: int, limits: Any, now_ns: int) -> int:
    if fold.count_below(below) >= 2 * sum(at < below for at in fold.needed()):
        needed = [record async for record in self._records(fold.topic, sorted(fold.needed()))]
        await self._log.trim(fold.topic, Retention(below_offset=below))
        await self._append(fold, [record for record in needed if record.offset < below], now_ns)
    return 0 if fold.topic else await right(self, fold, below, limits, now_ns)


def _only_live(right: Any, self: LastAnnouncements) -> Any:
    newest = max((word.heard.seen_ns for word in self.members.values()), default=0)
    silent = {word.offset for word in self.members.values() if word.heard.seen_ns < newest - SILENT_NS}
    return (offset for offset in right(self) if offset not in silent)


def _nothing(right: Any, self: LastStatuses) -> Any:
    return list(right(self))[:0]


def _everything(right: Any, self: PendingCommands, below: int) -> int:
    return max(below, right(self, below))  # type: ignore[no-any-return]


BUGS = (
    Patch("a topic is trimmed before what it needs is repeated", Shortener, "_shorten", _hasty),
    Patch("a subscriber that is silent is forgotten", LastAnnouncements, "needed", _only_live),
    Patch("no status is needed", LastStatuses, "needed", _nothing),
    Patch("a command is removed before it is carried out", PendingCommands, "last_cut", _everything),
)
