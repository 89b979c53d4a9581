"""When jobs that have ended are forgotten."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

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
