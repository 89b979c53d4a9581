"""When jobs that have ended are forgotten."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby

COMPACT_MIN = 1000
"""Forgotten entries at the front that are not worth a copy of the rest."""


@dataclass(slots=True)
class _Kept:
    """Jobs that are kept equally long, in the order in which they ended, without the first ``gone``."""

    jobs: "array[int]" = field(default_factory=lambda: array("Q"))
    gone: int = 0


class History:
    """Jobs that have ended, by how long they are kept: 8 bytes for each."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}

    def add(self, job: int, keep_ms: int) -> None:
        """The job has just ended; it is kept for ``keep_ms`` from now on."""
        kept = self._kept.get(keep_ms) or self._kept.setdefault(keep_ms, _Kept())
        kept.jobs.append(job)

    def kept(self) -> dict[int, "array[int]"]:
        """Copies: the jobs in the order of their ends, by how long they are kept."""
        return {keep_ms: its.jobs[its.gone :] for keep_ms, its in self._kept.items()}

    def extend(self, keep_ms: int, jobs: "array[int]") -> None:
        """These jobs have ended one after another."""
        self._kept.setdefault(keep_ms, _Kept()).jobs.extend(jobs)

    def by_end(self, ended_at: Callable[[int], int], last: int, *, newest: bool) -> Iterator[tuple[int, int]]:
        """The jobs in the order of their ends, each behind the offset of the record that ended it; in a record, by id.
        They begin with those of the record at ``last``, unless that is -1. ``ended_at`` is -1 for a forgotten job.
        """
        return merge(*(_by_end(its, ended_at, last, newest=newest) for its in self._kept.values()), reverse=newest)

    def expired(self, now_ms: int, ended_ms: Callable[[int], int | None], most: int) -> tuple[int, ...]:
        """The jobs whose time is over, ``most`` at most; they stay until ``ended_ms`` knows them no more."""
        found = list[int]()
        for keep_ms, its in self._kept.items():
            while its.gone < len(its.jobs) and ended_ms(its.jobs[its.gone]) is None:
                its.gone += 1
            if its.gone > COMPACT_MIN and its.gone > len(its.jobs) // 2:
                del its.jobs[: its.gone]
                its.gone = 0
            for job in its.jobs[its.gone : its.gone + most - len(found)]:
                at_ms = ended_ms(job)
                if at_ms is not None and at_ms + keep_ms > now_ms:
                    break
                if at_ms is not None:
                    found.append(job)
        return tuple(found)


def _by_end(its: _Kept, ended_at: Callable[[int], int], last: int, *, newest: bool) -> Iterator[tuple[int, int]]:
    places = range(its.gone, len(its.jobs))

    def at(place: int) -> int:
        """When the first job from this place on ended that is not forgotten; after ``last`` if all are."""
        ends = (ended_at(its.jobs[each]) for each in range(place, places.stop))
        return next((end for end in ends if end >= 0), last + 1)

    if last >= 0:
        places = places[: bisect_right(places, last, key=at)] if newest else places[bisect_left(places, last, key=at) :]
    jobs = map(its.jobs.__getitem__, reversed(places) if newest else places)
    known = ((end, job) for job in jobs if (end := ended_at(job)) >= 0)
    for _, ended in groupby(known, lambda each: each[0]):  # in a record, they are in any order
        yield from sorted(ended, reverse=newest)
