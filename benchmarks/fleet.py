"""A publisher and 100 busy subscribers: the delay of a package, and the cost of a subscriber.

Usage: ``python benchmarks/fleet.py [--quick] [--seconds 30] [--folder]``, 3 minutes; a full run has 60 seconds.
Subscribers import into SQLite files, or into folders.

The publisher and each half of the subscribers are embedded in a process; all use one SQLite log. Every subscriber is
editable, so each sends a status per package. 20 packages of 10 kB are published a second, from files of a folder. A
package's delay is from before the call of ``publish`` to the commit at each subscriber. Before that, the cost of idle
subscribers is measured.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from embedded import caught_up, start_subscriber
from report import Report

from callboard import Callboard
from callboard.actors.core.agent import Agent
from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import Append
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.effects import ImportPackages
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.logs.tail import SharedTail
from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.messages.topics import Topics

SUBSCRIBERS, SMALLER = 100, (10, 50)
"""The size of the fleet, and those for the curve."""
HALVES = 2
"""Processes with subscribers: as many as there are cores."""
PER_S, SLOWER, BYTES = 20, (2, 5, 10), 10_000
"""Packages a second, and fewer for the curve."""
SECONDS, SMALLER_S, REST_S = 30, 10, 3
PAGES = 500
GOAL_P99_MS = 250
TOPICS = Topics.with_prefix()
STOP_S = 30.0
LAND_S = 600.0
"""All packages are imported within this time, also by a large fleet beside other work."""


@dataclass
class Half:
    """What the subscribers of one process have done since they were last asked."""

    landed: list[tuple[int, int, int]] = field(default_factory=list)
    """First and last offset of each import, and when it was committed, by the clock that all processes share."""
    appends: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0
    resident_mb: float = 0.0

    def clear(self) -> None:
        """Start over."""
        self.landed.clear()
        self.appends.clear()
        self.records.clear()

    def watch(self, effect: Perform) -> None:
        """An effect was performed."""
        if isinstance(effect, ImportPackages):
            self.landed.append((effect.offsets[0], effect.offsets[-1], time.monotonic_ns()))
        elif isinstance(effect, Append):
            self.appends[effect.topic] += 1
            self.records[effect.topic] += len(effect.records)


@dataclass(frozen=True)
class Load:
    """What is measured: a fleet at rest for ``rest_s`` seconds, then for ``seconds`` with ``per_s`` packages a second.
    Before it rests, it gets ``settle_s`` seconds.
    """

    count: int
    seconds: int
    per_s: float = PER_S
    rest_s: float = REST_S
    settle_s: float = REST_S
    editable: bool = True
    into_folders: bool = False

    @property
    def packages(self) -> int:
        """Packages published in all."""
        return round(self.per_s * self.seconds)


def subscribers(folder: Path, names: list[str], load: Load, pipe: Connection) -> None:
    """Run the subscribers until the pipe closes; answer each message from it with what they have done."""
    asyncio.run(_subscribers(folder, names, load, pipe))


async def _subscribers(folder: Path, names: list[str], load: Load, pipe: Connection) -> None:
    log, blobs, done = SharedTail(SqliteLog(folder / "log")), FolderBlobStore(folder / "blobs"), Half()
    before_mb, agents = resident_mb(), list[Agent]()
    for name in names:
        repository = FolderRepository(folder / name) if load.into_folders else SqliteRepository(folder / f"{name}.db")
        settings = SubscriberSettings(name=name, topics=TOPICS, editable=load.editable)
        spool = folder / f"{name}-spool"
        agents.append(await start_subscriber(settings, log, blobs, repository, spool, done.watch))
    await asyncio.gather(*map(caught_up, agents))
    pipe.send(None)
    spent_s = cpu_s()
    while await asyncio.to_thread(pipe.recv):
        done.cpu_s, done.resident_mb = cpu_s() - spent_s, resident_mb() - before_mb
        pipe.send(done)
        spent_s = cpu_s()
        done.clear()
    await asyncio.gather(*(agent.stop(STOP_S) for agent in agents))
    await log.close()


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def machine_cpu_s() -> float:
    """The processor time of all processes of the machine."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def started(folder: Path, load: Load) -> list[tuple[SpawnProcess, Connection]]:
    """The processes with the subscribers, once all have caught up."""
    context, names, halves = multiprocessing.get_context("spawn"), [f"edge-{each}" for each in range(load.count)], []
    for number in range(HALVES):
        ours, theirs = context.Pipe()
        process = context.Process(target=subscribers, args=(folder, names[number::HALVES], load, theirs))
        process.start()
        theirs.close()
        halves.append((process, ours))
    for _, pipe in halves:
        pipe.recv()
    return halves


async def told(halves: Iterable[tuple[SpawnProcess, Connection]]) -> list[Half]:
    """What all subscribers have done since the last call."""
    answers = []
    for _, pipe in halves:
        pipe.send(True)
        answers.append(await asyncio.to_thread(pipe.recv))
    return answers


@dataclass
class Run:
    """A measurement of a fleet."""

    load: Load
    ms: list[float] = field(default_factory=list)
    """From ``publish`` to the commit, of each package at each subscriber, sorted."""
    busy: list[Half] = field(default_factory=list)
    idle: list[Half] = field(default_factory=list)
    records: dict[str, int] = field(default_factory=dict)
    """By topic, under load."""
    nbytes: dict[str, int] = field(default_factory=dict)
    idle_records: dict[str, int] = field(default_factory=dict)
    """At rest."""
    idle_nbytes: dict[str, int] = field(default_factory=dict)
    started_s: float = 0.0
    """Until all subscribers had caught up, the time for new interpreters included."""
    took_s: float = 0.0
    """From the first package to the end, which is checked twice a second."""
    publisher_cpu_s: float = 0.0
    publisher_idle_cpu_s: float = 0.0
    publisher_mb: float = 0.0
    machine_cpu_s: float = 0.0

    def share(self, part: float) -> float:
        """Milliseconds of this percentile of the deliveries."""
        return self.ms[min(int(len(self.ms) * part), len(self.ms) - 1)]


async def measured(folder: Path, load: Load) -> Run:
    """Run a fleet in this folder."""
    source, run, count = folder / "source", Run(load), load.count
    write_pages(source)
    async with Callboard(f"sqlite:///{folder / 'log'}", blobs=str(folder / "blobs")) as board:
        before_mb, began = resident_mb(), time.monotonic()
        publisher = board.publisher("site")
        await publisher.start()
        halves = await asyncio.to_thread(started, folder, load)
        run.started_s = time.monotonic() - began
        await asyncio.sleep(load.settle_s)
        await told(halves)
        ends, spent_s = await topic_ends(board), cpu_s()
        await asyncio.sleep(load.rest_s)
        run.publisher_idle_cpu_s, run.idle = cpu_s() - spent_s, await told(halves)
        run.idle_records, run.idle_nbytes = await written_since(board, ends)
        ends, spent_s, machine_s, began = await topic_ends(board), cpu_s(), machine_cpu_s(), time.monotonic()
        published = await publish(partial(publisher.publish, source), load)
        landed, deadline = 0, time.monotonic() + LAND_S
        while landed < count * len(published) and time.monotonic() < deadline:
            await asyncio.sleep(0.5)
            run.busy += await told(halves)
            landed = sum(last - first + 1 for half in run.busy for first, last, _ in half.landed)
        run.publisher_cpu_s, run.took_s = cpu_s() - spent_s, time.monotonic() - began
        run.machine_cpu_s, run.publisher_mb = machine_cpu_s() - machine_s, resident_mb() - before_mb
        run.records, run.nbytes = await written_since(board, ends)
        for _, pipe in halves:
            pipe.send(False)
        await asyncio.to_thread(lambda: [process.join() for process, _ in halves])
    times = [
        (at - published[offset]) / 1e6
        for half in run.busy
        for first, last, at in half.landed
        for offset in range(first, last + 1)
    ]
    run.ms = sorted(times)
    assert len(run.ms) == count * len(published), f"{len(run.ms)} of {count * len(published)} have landed"
    return run


def write_pages(source: Path) -> None:
    source.mkdir()
    for page in range(PAGES):
        (source / f"{page}.html").write_bytes(random.Random(page).randbytes(BYTES))


async def publish(ship: partial, load: Load) -> dict[int, int]:  # type: ignore[type-arg]
    """Publish at an even pace, however slow the answers; return by offset when each package was handed over."""
    published: dict[int, int] = {}

    async def one(number: int) -> None:
        began = time.monotonic_ns()
        package = await ship([f"/{number % PAGES}.html"], deep=False)
        published[package.offset] = began

    began, tasks = time.monotonic(), set[asyncio.Task[None]]()
    for number in range(load.packages):
        await asyncio.sleep(max(0.0, began + number / load.per_s - time.monotonic()))
        tasks.add(asyncio.create_task(one(number)))
    await asyncio.gather(*tasks)
    return published


async def topic_ends(board: Callboard) -> dict[str, int]:
    topics = (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.event)
    return {topic: (await board.log.bounds(topic)).end for topic in topics}


async def written_since(board: Callboard, ends: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """The records on each topic since then, and their bytes."""
    records, nbytes = dict.fromkeys(ends, 0), dict.fromkeys(ends, 0)
    for topic, end in (await topic_ends(board)).items():
        position = ends[topic]
        while position < end and (found := await board.log.read(topic, position)):
            records[topic] += len(found)
            nbytes[topic] += sum(len(record.payload) + len(record.header_block) for record in found)
            position = found[-1].offset + 1
    return records, nbytes


def tell(report: Report, run: Run) -> None:
    """The rows about the whole fleet."""
    packages, count = run.load.packages, run.load.count
    fleet = f"{count} subscribers, {PER_S}/s of {BYTES // 1000} kB"
    for part in (0.5, 0.99, 1.0):
        goal = f"goal {GOAL_P99_MS}" if part == 0.99 else ""
        report.row(f"{fleet}: {part:.0%} imported within", [run.share(part)], unit="ms", note=goal)
    for topic, records in run.records.items():
        calls = sum(half.appends[topic] for half in run.busy)
        note = f"{calls / packages:.3g} appends by subscribers a package" if calls else ""
        if topic == TOPICS.discovery:
            note += f"; {records / count / run.took_s:.2f} records/s a subscriber, goal 1"
        report.row(f"records on {topic} for a package", [records / packages], unit="records", note=note)
    busy_s, idle_s = (sum(half.cpu_s for half in halves) / count for halves in (run.busy, run.idle))
    report.row("processor time of a subscriber, busy", [busy_s / run.took_s * 1000], unit="ms/s",
               note=f"{busy_s / packages * 1000:.2f} ms a package")  # fmt: skip
    report.row("processor time of a subscriber, idle", [idle_s / REST_S * 1000], unit="ms/s")
    report.row("processor time of the publisher", [run.publisher_cpu_s / run.took_s * 1000], unit="ms/s")
    others_s = run.machine_cpu_s - run.publisher_cpu_s - busy_s * count
    report.row("processor time of everything else on the machine", [others_s / run.took_s * 1000], unit="ms/s",
               note="0 on a machine of its own")  # fmt: skip
    last = sum(half.resident_mb for half in run.busy[-HALVES:])
    report.row("memory of a subscriber", [last / count], unit="MB", note=f"{packages} packages later")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--folder", action="store_true")
    given = parser.parse_args()
    report = Report("fleet_folder" if given.folder else "fleet")
    fleets = [] if given.quick else [(count, SMALLER_S) for count in SMALLER]
    for count, seconds in [*fleets, (SUBSCRIBERS, SMALLER_S if given.quick else given.seconds)]:
        with tempfile.TemporaryDirectory() as folder:
            run = asyncio.run(measured(Path(folder), Load(count, seconds, into_folders=given.folder)))
        for part, name in ((0.5, "half of the deliveries"), (0.99, "99% of the deliveries")):
            report.point(name, count, run.share(part), x_name="subscribers", y_name="ms from publish to imported")
        if count == SUBSCRIBERS:
            tell(report, run)
    for per_s in () if given.quick else SLOWER:
        with tempfile.TemporaryDirectory() as folder:
            run = asyncio.run(measured(Path(folder), Load(SUBSCRIBERS, SMALLER_S, per_s, into_folders=given.folder)))
        for part in (0.5, 0.99):
            what = f"{SUBSCRIBERS} subscribers, {per_s}/s: {part:.0%} imported within"
            report.row(what, [run.share(part)], unit="ms")
    report.write()


if __name__ == "__main__":
    main()
