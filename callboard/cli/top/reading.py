"""A board as it was read, and how much happens there in a minute."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from callboard.board.jobs.health.report import WorkerState
from callboard.board.jobs.queues import QueueState
from callboard.board.views import BoardStatus
from callboard.errors import LogUnavailable

if TYPE_CHECKING:
    from callboard.board.board import Callboard


@dataclass(frozen=True, slots=True)
class Reading:
    """The board at a moment by the wall clock, for display, and by the monotonic one. ``counts`` are the packages that
    each subscriber has imported, and the jobs of each queue that have ended, ever.
    """

    wall_s: float
    mono_s: float
    status: BoardStatus
    queues: tuple[QueueState, ...]
    workers: tuple[WorkerState, ...]
    counts: Mapping[tuple[str, str], int]

    def a_minute(self, before: "Reading") -> Mapping[tuple[str, str], float]:
        """By how much each count has grown in a minute since an earlier reading; nothing of one that was reset."""
        minutes, was = (self.mono_s - before.mono_s) / 60, before.counts
        grown = {name: many - was[name] for name, many in self.counts.items() if name in was and minutes}
        return {name: many / minutes for name, many in grown.items() if many >= 0}


async def read(board: "Callboard") -> Reading:
    """Read the board. Raises ``CallboardError``."""
    wall_s, mono_s = time.time(), time.monotonic()
    status = await board.status()
    if status.problem:
        raise LogUnavailable(status.problem)
    queues, workers, found = await board.jobs.queues(), await board.jobs.workers(), await board.jobs.statistics()
    counts = {("fleet", row.name): row.imported for row in status.subscribers}
    for name, its in found.queues.items():
        counts["jobs", name] = its.succeeded + its.stopped + its.given_up + its.error + its.dropped
    return Reading(wall_s, mono_s, status, queues, workers, counts)
