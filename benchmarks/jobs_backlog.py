"""What does a large backlog of jobs cost those who begin to read it, and those who take over?

Usage: ``python benchmarks/jobs_backlog.py [--quick]``, 4 minutes. Topics in SQLite have up to a million jobs that
wait, or that have ended. Measured are: a newcomer that reads the whole topic, and one that begins with a snapshot; the
longest pause that a part of this costs the dispatcher; the memory of a job; and the time from ``kill -9`` of the
dispatcher until the next one has started a job.
"""

import asyncio
import gc
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from queue_cache import filled, held_page_ms, views_per_s
from report import Report, quick

from callboard import Callboard, Job, RunningJob
from callboard.actors.jobs.jobs import At
from callboard.actors.jobs.snapshots.taking import parts
from callboard.backends.logs.sqlite import SqliteLog
from callboard.board.jobs.reading import JobReading
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import (
    BATCH_MAX,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    WorkerMessage,
    job_id,
)
from callboard.messages.topics import job_topic

TOPIC = job_topic()
PAYLOAD = b'{"order": 123456789, "to": "someone@example.org", "template": "thank-you", "language": "en"}'
NOW_MS = time.time_ns() // 1_000_000
"""When all records were appended."""

ROUNDS = 3
PATIENCE_S = 120.0
BACKLOGS = (1000, 100_000, 1_000_000)
PROFILE = "fast"
"""Leases of 2.5 s: the time until a lost member is evicted is the larger part of a takeover."""


def added(number: int) -> JobsAddedMessage:
    return JobsAddedMessage(
        request=f"{number:032x}", creator="bench", topics=("parked",), topic_of=(0,) * BATCH_MAX,
        payloads=(PAYLOAD,) * BATCH_MAX,
    )  # fmt: skip


def waiting(many: int) -> Iterator[Event]:
    yield from (added(number) for number in range(many // BATCH_MAX))


def history(many: int) -> Iterator[Event]:
    """Jobs that have all succeeded; the first record is at offset 1."""
    by = {"cluster_log": "old", "epoch": 1, "dispatcher": "d"}
    yield WorkerMessage(instance="w", incarnation="w1", slots=10_000, topics=("**",))
    yield JobsLeasedMessage(**by)
    for number in range(many // BATCH_MAX):
        at = 3 + 3 * number
        jobs = tuple(job_id(at, place) for place in range(BATCH_MAX))
        yield added(number)
        yield JobsLeasedMessage(**by, workers=("w1",), worker_of=(0,) * BATCH_MAX, jobs=jobs, read_to=at,
                                read_ms=NOW_MS)  # fmt: skip
        many_zeros = (0,) * BATCH_MAX
        yield JobsEndedMessage(
            worker="w1",
            jobs=jobs,
            leases=(At(at + 1, NOW_MS).lease,) * BATCH_MAX,
            outcomes=many_zeros,
            run_ms=many_zeros,
        )


async def fill(folder: Path, messages: Iterator[Event]) -> None:
    log = SqliteLog(folder / "board.db", lambda: NOW_MS * 1_000_000)
    await log.ensure(TOPIC)
    for message in messages:
        await log.append(TOPIC, [new_record(message, record_id="", time_ns=0, producer="bench")])
    await log.close()


async def known(folder: Path) -> tuple[float, JobReading]:
    """Seconds until a newcomer knows all jobs, and what it knows."""
    log = SqliteLog(folder / "board.db")
    try:
        begun = time.perf_counter()
        reading = await JobReading(log, TOPIC).catch_up()
        return time.perf_counter() - begun, reading
    finally:
        await log.close()


async def write_snapshot(folder: Path, reading: JobReading) -> list[float]:
    """Append a snapshot; returns the milliseconds that each of its parts has cost the dispatcher."""
    log, took = SqliteLog(folder / "board.db"), list[float]()
    found = parts(reading.jobs, await log.identity(TOPIC), reading.next - 1, "bench")
    while True:
        begun = time.perf_counter()
        part = next(found)
        record = new_record(part, record_id="", time_ns=0, producer="bench")
        took.append((time.perf_counter() - begun) * 1000)
        await log.append(TOPIC, [record])
        if part.parts:
            await log.close()
            return took


async def newcomers(report: Report, what: str, messages: Iterator[Event], many: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await fill(folder, messages)
        whole = [(await known(folder))[0] for _ in range(2)]
        report.row(f"newcomer, {many:,} jobs that {what}, whole topic", whole, unit="s", note="less is better")
        tracemalloc.start()
        _, reading = await known(folder)
        gc.collect()
        nbytes = tracemalloc.get_traced_memory()[0] / many
        tracemalloc.stop()
        report.row(f"memory of a job, {many:,} that {what}", [nbytes], unit="bytes", note="goal below 64")
        took = await write_snapshot(folder, reading)
        del reading
        report.row(f"longest pause for a part of a snapshot of {many:,} that {what}", [max(took)], unit="ms",
                   note=f"{len(took)} parts, {sum(took):.0f} ms in all; goal below 100")  # fmt: skip
        await questions(report, folder, what, many)
        begun = [(await known(folder))[0] for _ in range(ROUNDS)]
        report.row(f"newcomer, {many:,} jobs that {what}, from a snapshot", begun, unit="s", note="less is better")


async def questions(report: Report, folder: Path, what: str, many: int) -> None:
    """What a board answers that has read the topic, beside the queue of as many packages in a publisher's memory."""
    packages, states = filled(many), ("queued" if what == "wait" else "history")
    async with Callboard("sqlite:///./board.db", blobs="./blobs", base=folder) as board:
        jobs = board.jobs
        offsets = cycle(Random(1).choices(range(2, many // BATCH_MAX), k=100))
        every = 1 if what == "wait" else 3
        asked: dict[str, tuple[Callable[[], Awaitable[Any]], Callable[[], float] | None]] = {
            "a page of 100": (
                lambda: jobs.find(states, after=job_id(3 + every * (next(offsets) - 2), 7)),
                lambda: held_page_ms(packages, many),
            ),
            "counts of the queues": (jobs.queues, lambda: 1000 / views_per_s(packages, many)),
            "counts by topic and worker": (jobs.statistics, None),
            "a page by payload, 10,000 jobs looked at": (lambda: jobs.find(states, where={"order": 1}), None),
        }
        [queue] = await jobs.queues()  # reads the topic
        assert many == (queue.queued if what == "wait" else queue.ended), "the records are as the rules demand"
        for question, (ask, of_packages) in asked.items():
            took, theirs = list[float](), list[float]()
            for _ in range(ROUNDS):
                begun = time.perf_counter()
                await ask()
                took.append((time.perf_counter() - begun) * 1000)
                theirs += [of_packages()] if of_packages else []
            report.row(f"{question}, {many:,} jobs that {what}", took, theirs, unit="ms", note="less is better",
                       peer_name="a queue of packages in memory" if theirs else "")  # fmt: skip


async def work(folder: Path, instance: str) -> None:
    """A worker process: says when it runs a job."""

    async def tell(_: None, job: RunningJob) -> None:
        print(job.id, time.time(), flush=True)

    async with (
        Callboard("sqlite:///./board.db", blobs="./blobs", base=folder) as board,
        board.jobs.worker({instance: tell}, instance=instance, profile=PROFILE),
    ):
        await asyncio.Event().wait()


async def take_over(folder: Path) -> float:
    """Seconds from the end of the dispatcher to the start of a job that the next one leases."""
    me = Path(__file__)
    async with Callboard("sqlite:///./board.db", blobs="./blobs", base=folder) as board:
        processes = dict[str, asyncio.subprocess.Process]()
        try:
            for instance in ("one", "two"):
                processes[instance] = await asyncio.create_subprocess_exec(
                    sys.executable, me, "--worker", folder, instance, stdout=asyncio.subprocess.PIPE
                )
                await ran(processes[instance], await board.jobs.add(instance))
            jobs = (await JobReading(board.context.log, TOPIC).catch_up()).jobs
            first = jobs.workers[jobs.fence.dispatcher].instance
            processes[first].kill()
            killed = time.time()
            [second] = processes.keys() - {first}
            return await ran(processes[second], await board.jobs.add(second)) - killed
        finally:
            for process in processes.values():
                if process.returncode is None:
                    process.kill()
                await process.wait()


async def ran(process: asyncio.subprocess.Process, job: Job) -> float:
    """When the process ran the job. It may first run what the one before could not report."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        async for line in process.stdout:
            number, time_s = line.split()
            if int(number) == job.id:
                return float(time_s)
    raise EOFError("the worker has ended")


async def take_overs(report: Report, many: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        await fill(Path(name), waiting(many))
        took = [await take_over(Path(name)) for _ in range(ROUNDS)]
        report.row(f"takeover after kill -9, {many:,} jobs wait", took, unit="s", note="goal: the same for all")


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        asyncio.run(work(Path(sys.argv[2]), sys.argv[3]))
        return
    report = Report("jobs_backlog")
    backlogs = (1000, 10_000) if quick() else BACKLOGS
    asyncio.run(newcomers(report, "wait", waiting(backlogs[-1]), backlogs[-1]))
    asyncio.run(newcomers(report, "have ended", history(backlogs[-1]), backlogs[-1]))
    for many in backlogs:
        asyncio.run(take_overs(report, many))
    report.write()


if __name__ == "__main__":
    main()
