"""Processor time of process trees: the cost of something on a machine with other load.

Linux only: it reads ``/proc``.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

SETTLE_S = 0.2
"""Processor time counts at a process's end, or the kernel's next tick; servers end shortly after their connections."""

TICKS = os.sysconf("SC_CLK_TCK")


class CpuTime:
    """Measures elapsed time and processor time.

    Args:
        families: by name a process, which counts with all that come of it and of their children.
        java: the name for what Java has of the processes of all families; it does not count for them.
    """

    def __init__(self, families: dict[str, int], java: str) -> None:
        self._families, self._java = families, java
        self._spent: dict[str, list[dict[str, float]]] = {}

    def rate(self, name: str, count: int, work: Callable[[], object]) -> Callable[[], float]:
        """Do the work; return ``count`` per second."""

        def measured() -> float:
            before, begun = self._now(), time.perf_counter()
            work()
            took = time.perf_counter() - begun
            time.sleep(SETTLE_S)
            after = self._now()
            self._spent.setdefault(name, []).append({part: after[part] - before[part] for part in after})
            return count / took

        return measured

    def spent(self) -> float:
        """Seconds until now, of all families."""
        return sum(self._now().values())

    def total(self, name: str) -> float:
        """Median seconds of all rounds but the first, a warm-up."""
        return statistics.median(sum(spent.values()) for spent in self._counted(name))

    def parts(self, name: str) -> str:
        """The median seconds of each part, as text."""
        counted = self._counted(name)
        medians = {part: statistics.median(spent[part] for spent in counted) for part in counted[0]}
        return "CPU: " + ", ".join(f"{part} {seconds:.2f} s" for part, seconds in medians.items() if seconds >= 0.1)

    def _counted(self, name: str) -> list[dict[str, float]]:
        return self._spent[name][1:]

    def _now(self) -> dict[str, float]:
        processes = _processes()
        children: dict[int, list[int]] = {}
        for pid, (parent, _, _) in processes.items():
            children.setdefault(parent, []).append(pid)
        spent = {**dict.fromkeys(self._families, 0.0), self._java: 0.0}
        for family, root in self._families.items():
            left = [root]
            while left:
                pid = left.pop()
                if pid in processes:
                    _, program, seconds = processes[pid]
                    spent[self._java if program == "java" else family] += seconds
                left += children.get(pid, [])
        return spent


def _processes() -> dict[int, tuple[int, str, float]]:
    """For each process: its parent, its program, and the seconds that it and its ended children took."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                head, _, tail = (folder / "stat").read_text().rpartition(")")
            except OSError:
                continue  # it has ended
            fields = tail.split()
            found[int(folder.name)] = (int(fields[1]), head.partition("(")[2], sum(map(int, fields[11:15])) / TICKS)
    return found
