"""What a piece of work costs: seconds, processor time and bytes written, of this process and those it started."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spending:
    """The cost; ``synced_s`` is how much longer it takes until all of it is on disk."""

    seconds: float
    synced_s: float
    cpu_s: float
    written_mb: float


def spending(work: Callable[[], float], running: set[int]) -> Spending:
    """Do the work, which returns when it was done by ``time.monotonic``, and say what it cost.

    Args:
        work: is done by this process, by commands that have ended when it returns, and by ``running`` processes.
        running: ids of processes.
    """
    os.sync()  # what was written before is not part of it
    cpu_s, written, began = _cpu_s(running), _written(running), time.monotonic()
    ended = work()
    cpu_s, written = _cpu_s(running) - cpu_s, _written(running) - written
    synced = time.monotonic()
    os.sync()
    return Spending(ended - began, time.monotonic() - synced, cpu_s, written / 1e6)


def children() -> set[int]:
    """The processes that this one has started and that are running."""
    threads = Path("/proc/self/task").iterdir()
    return {int(child) for thread in threads for child in (thread / "children").read_text().split()}


def _cpu_s(running: set[int]) -> float:
    """With what their ended children have used."""
    ticks = 0
    for process in ("self", *running):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_PER_S


def _written(running: set[int]) -> int:
    """Bytes that were written for a disk, with what their ended children have written."""
    lines = [line for process in ("self", *running) for line in Path(f"/proc/{process}/io").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))
