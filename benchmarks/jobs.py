"""No-op jobs per second, beside other job queues and the bare statements of the same server.

Usage: ``python benchmarks/jobs.py [--quick]``, 8 minutes. Peers that are not installed are left out: ``pip install
--group bench`` has those of Python, and ``redis-server`` is looked for on the path.

Jobs wait, then worker processes run them: 50 at a time each, where that can be said. Measured is from the first job to
the last, or the first seconds of it. All take turns in each round; the processor time is of the workers and the server.
"""

import asyncio
import logging
import math
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from cpu_time import CpuTime
from job_queues import QUEUES, TOPIC, OfCallboard, Queue
from report import Report, quick, rounds

from callboard import Callboard, NewJob, RunningJob
from callboard.messages.topics import job_topic
from callboard.testing.servers.postgres import postgres_server

ROUNDS, BACKLOG, BATCH, SINGLES = 3, 10_000, 1000, 300
BACKLOGS, WORKERS = (1000, 10_000, 100_000), (1, 2, 4)
LOADS = {"idle": 20, "1,000 single jobs/s": 1000, "5,000 single jobs/s": 5000}
MEMORY_JOBS = 50_000
WINDOW_S = 3.0
"""After that, slow ones are stopped."""

GIVE_UP_S = 60.0
OURS = "callboard, PostgreSQL"


def process(queue: Queue, number: int, began: Any, ended: Any, ran: Any, ready: Any) -> None:
    """The main function of a worker's process."""
    logging.disable(logging.CRITICAL)
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process is killed

    def count() -> None:
        ended[number] = time.monotonic()
        began[number] = began[number] or ended[number]
        ran[number] += 1

    asyncio.run(queue.work(f"w{number}", partial(ready.__setitem__, number, 1), count))


class Processes:
    """Worker processes, ended together."""

    def __init__(self, queue: Queue, many: int) -> None:
        context = get_context("spawn")
        self.began, self.ended = (context.RawArray("d", many) for _ in range(2))
        self.ran, self.ready = (context.RawArray("l", many) for _ in range(2))
        self._running: list[SpawnProcess] = []
        for number in range(many):
            words = (queue, number, self.began, self.ended, self.ran, self.ready)
            self._running.append(context.Process(target=process, args=words, daemon=True))
            self._running[-1].start()

    def wait(self, until: Callable[[], bool], timeout_s: float) -> None:
        """Wait until this is so, or the time is over."""
        deadline = time.monotonic() + timeout_s
        while not until() and time.monotonic() < deadline:
            time.sleep(0.002)

    def close(self) -> None:
        """Kill them."""
        for each in self._running:
            each.kill()
            each.join()


class Bench:
    """Measures queues on servers that run."""

    def __init__(self, urls: dict[str, str], folder: str, cpu: CpuTime) -> None:
        self._urls, self._folder, self._cpu, self._number = urls, folder, cpu, 0
        self.cpu_us: dict[str, list[float]] = {}
        self.shares: list[float] = []

    def queue(self, name: str) -> Queue:
        """An empty one."""
        kind, server, _ = QUEUES[name]
        self._number += 1
        url = f"sqlite:///{self._folder}/{self._number}" if server == "sqlite" else self._urls[server]
        queue = kind(url, self._folder)
        if isinstance(queue, OfCallboard):
            queue.prefix = f"bench{self._number}"
        asyncio.run(queue.prepare())
        return queue

    def added(self, name: str, many: int, batch: int) -> tuple[Queue, float]:
        """A queue with this many jobs, and how many were added per second; a batch of 0 adds them one by one."""
        queue = self.queue(name)
        many = min(many, queue.most)

        async def add() -> float:
            async with queue.adding() as (some, one):
                begun = time.perf_counter()
                for _ in range(many // (batch or 1)):
                    await (some(batch) if batch else one())
                return many / (time.perf_counter() - begun)

        return queue, asyncio.run(add())

    def together(self, name: str, callers: int) -> float:
        """Single jobs per second, added by several callers at once."""
        queue = self.queue(name)

        async def add() -> float:
            async with queue.adding() as (_, one):

                async def caller() -> None:
                    for _ in range(SINGLES // 10):
                        await one()

                begun = time.perf_counter()
                await asyncio.gather(*(caller() for _ in range(callers)))
                return callers * (SINGLES // 10) / (time.perf_counter() - begun)

        return asyncio.run(add())

    def ran(self, name: str, many: int, workers: int) -> float:
        """Jobs of a backlog that were run per second."""
        queue, _ = self.added(name, many, BATCH)
        many = min(many, queue.most)
        processes = Processes(queue, workers)
        try:
            processes.wait(lambda: all(processes.ready), GIVE_UP_S)
            before = self._cpu.spent()
            asyncio.run(queue.open())
            processes.wait(lambda: any(processes.ran), GIVE_UP_S)
            processes.wait(lambda: sum(processes.ran) >= many, WINDOW_S)
            done, last = sum(processes.ran), max(processes.ended)
            self.cpu_us.setdefault(name, []).append((self._cpu.spent() - before) / done * 1e6)
            self.shares = [each / done for each in processes.ran]
            return done / (last - min(filter(None, processes.began)))
        finally:
            processes.close()


async def latency(url: str, folder: str, per_s: float, seconds: float) -> list[float]:
    """Sorted milliseconds from the call of add to the start of the job, at this rate; adding and working in one
    process.
    """
    waits, news = list[float](), asyncio.Event()

    async def run(begun: float, _: RunningJob) -> None:
        waits.append((time.perf_counter() - begun) * 1000)
        news.set()

    blobs: Any = {"blobs": "./blobs"} if url.startswith("postgresql:") else {}
    board = Callboard(url, base=Path(folder), prefix=f"at{time.monotonic_ns()}", **blobs)
    async with board, board.jobs.worker({TOPIC: run}, slots=50, instance="w"):
        await board.jobs.wait((await board.jobs.add(TOPIC, time.perf_counter())).id)
        waits.clear()
        begun, many = time.perf_counter(), 0
        async with asyncio.TaskGroup() as adding:
            while (at := time.perf_counter() - begun) < seconds:
                while many < at * per_s:
                    adding.create_task(board.jobs.add(TOPIC, time.perf_counter()))
                    many += 1
                await asyncio.sleep(max(0.002, many / per_s - at))
        while len(waits) < many:
            await news.wait()
            news.clear()
    return sorted(waits)


async def in_memory(folder: str, many: int) -> tuple[float, float]:
    """Jobs of a backlog in memory that this process runs per second, and the processor time of each in microseconds."""
    left, done = many, asyncio.Event()

    async def run(_: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    async with Callboard("memory:", base=Path(folder)) as board:
        await board.jobs.suspend("main")
        for _ in range(many // BATCH):
            await board.jobs.add_all([NewJob(topic=TOPIC, payload=number) for number in range(BATCH)])
        async with board.jobs.worker({TOPIC: run}, slots=50, instance="w"):
            begun, before = time.perf_counter(), time.process_time()
            await board.jobs.resume("main")
            await done.wait()
            return many / (time.perf_counter() - begun), (time.process_time() - before) / many * 1e6


def commit_ms(folder: str) -> float:
    """The median of a bare durable commit: a job is added by one, and leased by another."""
    database = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
    database.executescript(
        "PRAGMA journal_mode=wal; PRAGMA synchronous=full; CREATE TABLE IF NOT EXISTS jobs (payload)"
    )
    took = list[float]()
    for _ in range(100):
        begun = time.perf_counter()
        database.execute("INSERT INTO jobs VALUES (1)")
        took.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.01)
    return statistics.median(took)


async def records_per_job(url: str, folder: str, many: int, batch: int) -> float:
    """How many records the job topic has for each job, once all have ended."""
    left, done = many, asyncio.Event()

    async def run() -> None:
        nonlocal left
        left -= 1
        if not left:
            done.set()

    async with Callboard(url, base=Path(folder), prefix="records") as board:
        log, topic = board.context.log, job_topic("records")
        async with board.jobs.worker({TOPIC: run}, slots=50, instance="w"):
            await board.jobs.wait((await board.jobs.add(TOPIC)).id)  # the worker is ready
            left = many
            done.clear()
            before = (await log.bounds(topic))[1]
            for _ in range(many // batch):
                jobs = await board.jobs.add_all([NewJob(topic=TOPIC)] * batch)
                if batch == 1:
                    await board.jobs.wait(jobs[0].id)
            await done.wait()
            await board.jobs.wait(jobs[-1].id)
        return ((await log.bounds(topic))[1] - before) / many


@contextmanager
def redis_server() -> Iterator[str]:
    """The URL of a server that writes to disk once a second; or nothing where there is none."""
    if (program := shutil.which("redis-server")) is None:
        yield ""
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "--port", str(port), "--dir", folder, "--appendonly", "yes", "--save", ""]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
            try:
                time.sleep(0.5)
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                server.terminate()


def present(urls: dict[str, str]) -> dict[str, str]:
    """The contestants that can be measured here, with their versions."""
    found = {}
    for name, (_, server, packages) in QUEUES.items():
        try:
            versions = ", ".join(f"{package} {version(package)}" for package in packages)
        except PackageNotFoundError:
            continue
        if urls[server]:
            found[name] = versions
    return found


def measure(report: Report, bench: Bench, found: dict[str, str]) -> None:
    """Throughput, beside the others."""
    count = 1 if quick() else ROUNDS
    tests: dict[str, Callable[[str], float]] = {
        f"add in batches of {BATCH}": lambda name: bench.added(name, BACKLOG, BATCH)[1],
        "add one after another": lambda name: bench.added(name, SINGLES, 0)[1],
        "add, 50 callers at once": lambda name: bench.together(name, 50),
        f"run {BACKLOG:,} waiting, 1 process": lambda name: bench.ran(name, BACKLOG, 1),
        f"run {BACKLOG:,} waiting, 2 processes": lambda name: bench.ran(name, BACKLOG, 2),
    }
    for question, test in tests.items():
        bench.cpu_us.clear()
        blocking = "callers" in question  # one at a time
        names = [name for name in found if not blocking or QUEUES[name][1] != "redis"]
        figures = rounds(count, {name: partial(test, name) for name in names}, warm_up=False)
        for name in names:
            spent = sorted(bench.cpu_us.get(name, ()))
            note = found[name] + (f"; {spent[len(spent) // 2]:.0f} us CPU a job" if spent else "")
            peer = figures[OURS] if name != OURS else ()
            report.row(f"{question}: {name}", figures[name], peer, unit="jobs/s", peer_name="callboard" if peer else "",
                       note=note)  # fmt: skip
    for name in (name for name in found if QUEUES[name][1] != "redis"):
        ours = QUEUES[name][0] is OfCallboard
        for many in BACKLOGS[: 3 if ours and not quick() else 2]:
            report.point(name, many, bench.ran(name, many, 1), x_name="jobs waiting", y_name="jobs/s, 1 process")
        for workers in WORKERS if ours else ():
            figure = bench.ran(name, BACKLOG, workers)
            report.point(f"{name} ", workers, figure, x_name="processes", y_name="jobs/s, 10,000 waiting")
            if name == OURS:
                report.row(f"smallest share of {workers} processes", [min(bench.shares)], unit="of all jobs",
                           note="of 10,000")  # fmt: skip


def measure_ours(report: Report, urls: dict[str, str], folder: str) -> None:
    """Latency, and what is written."""
    count = 1 if quick() else ROUNDS
    for what, url in (("memory", "memory:"), ("SQLite", f"sqlite:///{folder}/l"), ("PostgreSQL", urls["postgres"])):
        for load, per_s in LOADS.items():
            commits = [commit_ms(folder) for _ in range(count)] if what == "SQLite" else ()
            waits = [asyncio.run(latency(url, folder, per_s, 3)) for _ in range(count)]
            p50, p99 = ([each[math.ceil(len(each) * part) - 1] for each in waits] for part in (0.5, 0.99))
            report.row(f"add to start, {what}, {load}: median", p50, commits, unit="ms", note="in one process",
                       peer_name="bare commit" if commits else "")  # fmt: skip
            report.row(f"add to start, {what}, {load}: 99%", p99, unit="ms", note="goal 50")
    ran = [asyncio.run(in_memory(folder, MEMORY_JOBS)) for _ in range(count)]
    note = f"goal 30,000; {statistics.median(cpu_us for _, cpu_us in ran):.0f} us CPU a job"
    report.row(f"run {MEMORY_JOBS:,} waiting, memory", [per_s for per_s, _ in ran], unit="jobs/s", note=note)
    for batch in (BATCH, 1):
        per_job = asyncio.run(records_per_job("memory:", folder, BATCH * 5 if batch > 1 else 100, batch))
        report.row(f"records per job, added {batch} at a time", [per_job], unit="records", note="goal 3")


def main() -> None:
    report = Report("jobs")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(postgres_server())
        urls = {"postgres": server.url, "sqlite": "sqlite", "redis": stack.enter_context(redis_server())}
        cpu = CpuTime({"all": os.getpid()}, "java")  # the servers are its children
        found = present(urls)
        print("\n".join(f"{name}: {versions}" for name, versions in found.items()), file=sys.stderr)
        measure_ours(report, urls, folder)
        measure(report, Bench(urls, folder, cpu), found)
    report.write()


if __name__ == "__main__":
    main()
