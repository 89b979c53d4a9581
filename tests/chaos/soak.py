"""Run a board for hours and check that memory, descriptors and threads do not grow: ``python -m tests.chaos.soak``.

One process: a publisher, and subscribers of folders and SQLite files, one of which is stopped and started again and
again. The log is on SQLite, and is trimmed.

Memory that has a bound is not flat before it is there. So at first everything that is bounded is filled: what is
remembered of requests and packages, and the page caches of SQLite, of 2 MB for each connection. Then the log is kept
so short that each topic has soon all that it may have. Judged is the slope of a line through the samples after that.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import linear_regression

from callboard.backends.log import Retention
from callboard.board.board import Callboard
from callboard.board.publisher import Publisher
from callboard.board.subscriber import Subscriber

SUBSCRIBERS = 3
PACE_S = 0.05
SAMPLE_S = 1.0
RESTART_S = 10.0
TRIM_S = 2.0
KEEP_BYTES = 200_000
"""Of each topic: a minute's worth at most. The newest records of a topic are in memory, too."""
REMEMBERED = 10_000
"""Packages: the most that an agent of a publisher remembers of anything, such as answers to requests."""
AT_ONCE = 100
WARM_UP = 0.3
"""Of the time, until the topics are as short as they stay, and the allocator has taken what it will need."""

MEMORY_GROWTH = 0.05
"""Of the median, over the time judged: an allocator is never quite at rest."""
COUNT_GROWTH = 2.0
"""Descriptors and threads, over the time judged: some come and go."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process has at a moment."""

    at_s: float
    memory_mb: float
    descriptors: int
    threads: int

    @classmethod
    def taken(cls) -> "Sample":
        """Now."""
        gc.collect()
        resident = next(
            line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:")
        )
        memory_mb = int(resident.split()[1]) / 1024
        return cls(time.monotonic(), memory_mb, len(list(Path("/proc/self/fd").iterdir())), threading.active_count())


def growth(samples: list[Sample], name: str) -> tuple[float, float]:
    """By how much a line through the samples rises from the first to the last one, and their median."""
    values = [float(getattr(sample, name)) for sample in samples]
    slope = linear_regression([sample.at_s for sample in samples], values).slope
    return slope * (samples[-1].at_s - samples[0].at_s), sorted(values)[len(values) // 2]


def judged(samples: list[Sample]) -> tuple[list[str], bool]:
    """A line for each figure, and whether all are flat."""
    lines, flat = [], True
    for name in ("memory_mb", "descriptors", "threads"):
        risen, median = growth(samples, name)
        allowed = MEMORY_GROWTH * median if name == "memory_mb" else COUNT_GROWTH
        flat = flat and risen <= allowed
        verdict = "flat" if risen <= allowed else "RISES"
        lines.append(f"{name}: median {median:.1f}, rises by {risen:+.2f} in {len(samples)} samples, {verdict}")
    return lines, flat


async def fill(publisher: Publisher, edges: Iterable[Subscriber]) -> None:
    """Publish and import as many packages as any actor remembers."""
    for _ in range(REMEMBERED // AT_ONCE):
        await asyncio.gather(*(publisher.publish("./source", ["/0.txt"], full=True) for _ in range(AT_ONCE)))
    for edge in edges:
        await edge.caught_up()


async def trim(board: Callboard) -> None:
    """Shorten every topic, even that of statuses, which a board keeps for an hour."""
    for topic in astuple(board.settings.topics):
        await board.log.trim(topic, Retention(above_bytes=KEEP_BYTES))


async def soak(folder: Path, seconds: float) -> tuple[list[Sample], int]:
    """The samples, and how many packages all subscribers imported meanwhile."""
    source = folder / "source"
    source.mkdir()
    (source / "0.txt").write_text("0\n")
    samples: list[Sample] = []
    async with Callboard("sqlite:///./board.db", blobs="./blobs", base=folder) as board:
        publisher = board.publisher("soak")
        places = {f"edge-{n}": f"sqlite:edge-{n}.sqlite" if n % 2 else f"edge-{n}" for n in range(SUBSCRIBERS)}
        edges = {name: board.subscriber(name, into=into, editable=True) for name, into in places.items()}
        for edge in edges.values():
            await edge.__aenter__()
        await fill(publisher, edges.values())
        started_s = time.monotonic()
        sampled_s = restarted_s = trimmed_s = started_s
        published = 0
        while (now_s := time.monotonic()) < started_s + seconds:
            published += 1
            (source / f"{published % 50}.txt").write_text(f"{published}\n" * (published % 700))
            await publisher.publish("./source", [f"/{published % 50}.txt"], full=True)
            if now_s >= sampled_s + SAMPLE_S:
                sampled_s = now_s
                samples.append(Sample.taken())
            if now_s >= trimmed_s + TRIM_S:
                trimmed_s = now_s
                await trim(board)
            if now_s >= restarted_s + RESTART_S:
                restarted_s = now_s
                await edges["edge-1"].__aexit__(None, None, None)
                edges["edge-1"] = board.subscriber("edge-1", into=places["edge-1"], editable=True)
                await edges["edge-1"].__aenter__()
            await asyncio.sleep(PACE_S)
        for edge in edges.values():
            await edge.caught_up()
            await edge.__aexit__(None, None, None)
    return samples, published


def main() -> int:
    """Exits with 1 if anything rises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory(prefix="callboard-soak-") as folder:
        samples, published = asyncio.run(soak(Path(folder), minutes * 60))
    lines, flat = judged(samples[int(len(samples) * WARM_UP) :])
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.write(f"soak: {published} packages in {minutes:g} minutes, {'all flat' if flat else 'NOT FLAT'}\n")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
