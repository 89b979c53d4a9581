"""How fast one subscriber catches up, beside the bare repository and the original's loop.

Usage: ``python benchmarks/catch_up.py [--packages 4000] [--quick]``, some 3 minutes, with ``TMPDIR`` on the disk to be
measured; a full run has 20,000 packages and takes 12, a quick one 1,000.

A round imports the whole history into a new repository, from the agent's start until everything is imported and every
status is on the log. The bare repository gets the same operations in the same batches, prepared beforehand: it reads
no log, opens no package, sends no status. The original's loop (see ``original_loop.py``) imports only the first
packages of the history, because its pace is constant.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from embedded import CATCH_UP_S, DistantBlobs, caught_up, start_subscriber, unwatched
from history import batches, page_content, page_package, put_blobs, put_packages
from original_loop import OriginalLoop
from report import Report, rounds

from callboard.actors.subscriber import SubscriberSettings
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.log import Log
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.backends.repository import Operation, Repository
from callboard.messages.topics import Topics

ROUNDS = 3
PACKAGES, QUICK_PACKAGES, BYTES = 4_000, 1_000, 10_000
ORIGINAL_PACKAGES = 1_000
"""Packages that the original's loop imports."""
HOT_PAGES = 20
"""Pages in the history with many re-publications."""
BLOB_PACKAGES, BLOB_BYTES = 200, 100_000
DISTANCE_S = 0.02
"""Delay of each answer of the blob store: about that of a cloud."""
LEDGER = bytes(300)
"""About the size of a subscriber's ledger."""

Make = Callable[[Path], Repository]
REPOSITORIES: dict[str, Make] = {
    "a folder": lambda path: FolderRepository(path / "out"),
    "SQLite": lambda path: SqliteRepository(path / "out.db"),
}


@dataclass(frozen=True)
class Bench:
    """A log with a history, and the places for runs."""

    folder: Path
    log: Log
    history: str
    packages: int
    numbers: itertools.count  # type: ignore[type-arg]

    def settings(self, **others: object) -> SubscriberSettings:
        """Of a new subscriber, with its own topics except for the packages."""
        name = f"run-{next(self.numbers)}"
        topics = replace(Topics.with_prefix(name), package=self.history)
        return SubscriberSettings(name=name, topics=topics, **others)  # type: ignore[arg-type]


def imports(
    bench: Bench, run: asyncio.Runner, make: Make, *, distance_s: float = 0.0, **options: object
) -> float:
    """Packages a second that a subscriber imports."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as path:
        return run.run(_imports(bench, make, Path(path), distance_s, bench.settings(**options)))


async def _imports(bench: Bench, make: Make, path: Path, distance_s: float, settings: SubscriberSettings) -> float:
    blobs = DistantBlobs(FolderBlobStore(bench.folder / "blobs"), distance_s)
    for topic in (settings.topics.status, settings.topics.discovery, settings.topics.command):
        await bench.log.ensure(topic)
    began = time.perf_counter()
    agent = await start_subscriber(settings, bench.log, blobs, make(path), path / "spool", unwatched)
    await caught_up(agent)
    if settings.editable:
        await bench.log.wait(settings.topics.status, bench.packages, CATCH_UP_S)  # offsets begin at 1
    took = time.perf_counter() - began
    await agent.stop(10.0)
    return bench.packages / took


def bare(bench: Bench, run: asyncio.Runner, make: Make, content: Sequence[list[Operation]]) -> float:
    """Packages a second that the repository takes."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as path:
        return run.run(_bare(bench, make(Path(path)), content))


async def _bare(bench: Bench, repository: Repository, content: Sequence[list[Operation]]) -> float:
    await repository.open()
    began = time.perf_counter()
    for batch in content:
        await repository.apply(batch, LEDGER)
    took = time.perf_counter() - began
    await repository.close()
    return bench.packages / took


def original(bench: Bench, run: asyncio.Runner, make: Make, *, editable: bool) -> float:
    """Packages a second that the original's loop imports."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as path:
        return run.run(_original(bench, make(Path(path)), Path(path), bench.settings(editable=editable)))


async def _original(bench: Bench, repository: Repository, path: Path, settings: SubscriberSettings) -> float:
    for topic in (settings.topics.status, settings.topics.discovery):
        await bench.log.ensure(topic)
    count = min(ORIGINAL_PACKAGES, bench.packages)
    blobs = FolderBlobStore(bench.folder / "blobs")
    loop = OriginalLoop(settings, bench.log, blobs, repository, path, time.time_ns())
    began = time.perf_counter()
    await loop.run(count)
    took = time.perf_counter() - began
    await repository.close()
    return count / took


def new_pages(report: Report, run: asyncio.Runner, bench: Bench) -> None:
    """A history in which every package publishes another page."""
    messages = [page_package(number, number, BYTES) for number in range(bench.packages)]
    run.run(put_packages(bench.log, bench.history, messages, time.time_ns()))
    content = batches(messages, bench.settings().batch_packages)
    for name, make in REPOSITORIES.items():
        figures = rounds(ROUNDS, {
            "ours": partial(imports, bench, run, make),
            "bare": partial(bare, bench, run, make, content),
            "original": partial(original, bench, run, make, editable=False),
            "editable": partial(imports, bench, run, make, editable=True),
            "editable original": partial(original, bench, run, make, editable=True),
        }, warm_up=False)  # fmt: skip
        what = f"catch up into {name}, {bench.packages:,} packages of {BYTES // 1000} kB"
        report.row(what, figures["ours"], figures["bare"], unit="packages/s", peer_name="bare repository", goal=0.5)
        report.row(what, figures["ours"], figures["original"], unit="packages/s", peer_name="original's loop", goal=2)
        report.row(f"{what}, with statuses", figures["editable"], figures["editable original"], unit="packages/s",
                   peer_name="original's loop", goal=2)  # fmt: skip


def hot_pages(report: Report, run: asyncio.Runner, bench: Bench) -> None:
    """A history in which a few pages are published repeatedly."""
    messages = (page_package(number, number * 7 % HOT_PAGES, BYTES) for number in range(bench.packages))
    run.run(put_packages(bench.log, bench.history, messages, time.time_ns()))
    for name, make in REPOSITORIES.items():
        figures = rounds(ROUNDS, {
            "ours": partial(imports, bench, run, make),
            "each": partial(imports, bench, run, make, coalesce=False),
        }, warm_up=False)  # fmt: skip
        report.row(f"catch up into {name}, {bench.packages:,} packages about {HOT_PAGES} pages", figures["ours"],
                   figures["each"], unit="packages/s", peer_name="without coalescing", goal=1.5)  # fmt: skip


def distant_blobs(report: Report, run: asyncio.Runner, bench: Bench) -> None:
    """A history of large pages, in a distant blob store."""
    messages = [page_package(number, number, BLOB_BYTES) for number in range(bench.packages)]
    run.run(put_packages(bench.log, bench.history, messages, time.time_ns()))
    contents = (page_content(number, BLOB_BYTES) for number in range(bench.packages))
    run.run(put_blobs(FolderBlobStore(bench.folder / "blobs"), contents))
    make = REPOSITORIES["SQLite"]
    work = partial(imports, bench, run, make, distance_s=DISTANCE_S)
    figures = rounds(ROUNDS, {str(many): partial(work, parallel=many) for many in (1, 4, 16)}, warm_up=False)
    what = f"catch up, {bench.packages} packages with a blob that takes {DISTANCE_S * 1000:g} ms"
    for many, goal in (("4", 2), ("16", None)):
        report.row(f"{what}, {many} at a time", figures[many], figures["1"], unit="packages/s",
                   peer_name="one at a time", goal=goal)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=int, default=PACKAGES)
    parser.add_argument("--quick", action="store_const", dest="packages", const=QUICK_PACKAGES)
    packages = parser.parse_args().packages
    report = Report("catch_up")
    sections = ((new_pages, packages), (hot_pages, packages), (distant_blobs, BLOB_PACKAGES))
    with tempfile.TemporaryDirectory() as name, asyncio.Runner() as run:
        log, numbers = SqliteLog(Path(name) / "log"), itertools.count()
        for section, count in sections:
            section(report, run, Bench(Path(name), log, section.__name__, count, numbers))
        run.run(log.close())
    report.write()


if __name__ == "__main__":
    main()
