"""Archives a PostgreSQL log with Spark, beside one process that archives the same log, always from the beginning.

Usage: ``python benchmarks/spark_archive.py --records 1000000``; 10^5 first, then ten times as many, up to that
number. ``--rounds`` is how often each is measured.
"""

import argparse
import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from report import Report, rounds
from spark_log import fill

from callboard.backends.logs.postgres import PostgresLog
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings
from callboard.pipeline.archive import archiver
from callboard.pipeline.archive.segment_task import Wave, ranges_of, tasks_of
from callboard.pipeline.run import Run
from callboard.pipeline.session import open_session
from callboard.pipeline.source.place import Place
from callboard.testing.servers.postgres import postgres_server

PACKAGES = "callboard.package"
SMALLEST = 100_000


def measure_tasks(report: Report, url: str, folder: Path) -> None:
    """The work of a task, here and alone, by its processor time: Spark's tasks are other processes."""
    settings, name, ranges = BoardSettings(url, "", folder), PACKAGES, ((1, SMALLEST + 1),)
    wave = Wave(Place("package", log_variable="CALLBOARD_LOG"), str(folder / "archive"), name, "ab", ranges)

    def rate(work) -> float:
        shutil.rmtree(folder / "archive", ignore_errors=True)
        begun = time.process_time()
        work()
        return SMALLEST / (time.process_time() - begun)

    async def alone() -> None:
        log = PostgresLog(url)
        async with archiving.archive_of(settings, "archive") as store:
            assert sum([step.rows async for step in archiving.one_process(log, store, [name]).run(name)]) == SMALLEST
        await log.close()

    def task() -> None:
        [done] = tasks_of(wave)([pa.RecordBatch.from_pydict({"id": [0]})])
        [ranged] = ranges_of([tuple(row.values()) for row in done.to_pylist()])
        assert sum(file.rows for file in ranged.files) == SMALLEST

    figures = rounds(3, {"task": lambda: rate(task), "alone": lambda: rate(lambda: asyncio.run(alone()))})
    report.row("a task of Spark, which also counts what cannot be decoded", figures["task"], figures["alone"],
               unit="records/s of CPU", peer_name="one process")  # fmt: skip


def measure(report: Report, run: Run, url: str, folder: Path, count: int, times: int) -> None:
    settings = BoardSettings(url, "", folder)

    def rate(archive) -> float:
        """Packages a second."""
        shutil.rmtree(folder / "archive", ignore_errors=True)
        begun = time.perf_counter()
        done = asyncio.run(archive())
        took = time.perf_counter() - begun
        rows = sum(topic.rows for topic in done.topics)
        assert done.error is None
        assert {topic.topic: topic.rows for topic in done.topics}[PACKAGES] == count
        return rows / took

    async def one_process() -> archiving.RunReport:
        return await archiving.archive(
            settings, "archive", accept_hole=False, tip=None, on_progress=lambda *_: None
        )

    async def by_spark() -> archiving.RunReport:
        done, _ = await archiver.archive(run, settings, "archive", accept_hole=False, tip=None)
        return done

    contestants = {"spark": lambda: rate(by_spark), "alone": lambda: rate(one_process)}
    figures = rounds(times, contestants, warm_up=count == SMALLEST)  # then everything is warm
    report.row(f"archive {count:,} packages and as many statuses", figures["spark"], figures["alone"],
               unit="records/s", peer_name="one process", note="Spark is running already")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    said = parser.parse_args()
    report = Report("spark_archive")
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        os.environ["CALLBOARD_LOG"] = server.tcp_url
        begun = time.perf_counter()
        spark = open_session("benchmark", {"spark.local.dir": folder})
        spark.range(10).mapInArrow(lambda batches: batches, "id bigint").collect()
        report.row("Spark starts, up to its first answer", [time.perf_counter() - begun], unit="s")
        run = Run("archive", spark, {"logVariable": "CALLBOARD_LOG"}, time.time_ns)
        count = SMALLEST
        while count <= said.records:
            asyncio.run(fill(server.tcp_url, count))
            if count == SMALLEST:
                measure_tasks(report, server.tcp_url, Path(folder))
            measure(report, run, server.tcp_url, Path(folder), count, said.rounds)
            report.write()
            count *= 10
        spark.stop()


if __name__ == "__main__":
    main()
