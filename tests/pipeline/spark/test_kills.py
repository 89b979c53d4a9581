"""Tables and streams whose writer is killed before any step: in the end they have everything once."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from callboard.archive.reader import ArchiveReader
from callboard.board.connect.settings import BoardSettings
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.pipeline.archive import archiver
from callboard.pipeline.run import Output, Report, Run

COUNT = 300
STATUS = PackageStatusMessage(subscriber_instance="i", subscriber="s", publisher="p", offset=1, status=Status.IMPORTED)
DYING = Path(__file__).with_name("dying_driver.py")


def test_tables_of_a_run_killed_at_any_step_are_all_old_or_all_new(spark, tmp_path, dies_before):
    out, names = tmp_path / "tables", ("standing", "queue")

    def run(number: int, on_step=lambda _: None) -> None:
        """Write tables in each of which is the number of the run; every change to the disk is a step."""
        output, report = Output(out, number), Report("test", number)
        for name in names:
            on_step(name)
            output.write(name, spark.range(50).selectExpr("id", f"{number} as run"), report)
        output.finish(report)

    def dying(number: int):
        def work(on_step) -> None:
            for owner, name in ((Path, "mkdir"), (Path, "write_text"), (Path, "symlink_to"), (os, "replace"),
                                (shutil, "rmtree")):  # fmt: skip
                setattr(owner, name, before(on_step, name, getattr(owner, name)))
            run(number, on_step)

        return work

    run(0)
    newest, step = 0, 1
    while dies_before(step, dying(step)):
        report = json.loads((out / "current" / "report.json").read_text())
        assert report["begun_ns"] in (newest, step)
        newest = report["begun_ns"]
        for name in names:
            rows = spark.read.parquet(str(out / "current" / name)).selectExpr("id", "run").collect()
            assert sorted(tuple(row) for row in rows) == [(number, newest) for number in range(50)]
        step += 1
    assert step > 7, "the steps of a run"
    assert newest == step - 1, "the last of the dead had only to remove the old tables"
    assert [path.name for path in out.glob("run-*")] == [f"run-{step:020d}"]


def before(on_step, name: str, call):
    def counted(*args, **kwargs):
        on_step(name)
        return call(*args, **kwargs)

    return counted


@pytest.mark.timeout(600)
def test_a_stream_killed_at_any_step_continues_at_its_checkpoint(spark, sqlite_log, tmp_path):
    """What plans and reads a stream is killed at each of its calls in turn, and the query with it."""
    from callboard.pipeline.source import source

    calls = tmp_path / "calls"

    class DyingReader(source.StreamReader):
        pass

    def dying(name: str, step: int):
        def call(self, *args):
            number = len(list(calls.iterdir())) + 1
            (calls / f"{number}-{name}").touch()
            if number == step or (name == "read" and number > step):  # else a task is just tried again
                os.kill(os.getpid(), signal.SIGKILL)
            return getattr(super(type(self), self), name)(*args)

        return call

    config = board(sqlite_log)
    step = 1
    while True:
        shutil.rmtree(calls, ignore_errors=True)
        calls.mkdir()
        for name in ("latestOffset", "partitions", "read", "commit"):
            setattr(DyingReader, name, dying(name, step))

        class Dying(source.CallboardSource):
            def streamReader(self, schema):  # noqa: N802 - Spark's name
                return DyingReader(self._place, dict(self.options), source._columns(self._place, schema))

            @classmethod
            def name(cls) -> str:
                return "dying"

        spark.dataSource.register(Dying)
        try:
            stream(spark, "dying", config, tmp_path).awaitTermination()
            ended = True
        except StreamingQueryException:  # on a busy machine Spark may give up on a worker by itself: a death more
            ended = False
        if len(list(calls.iterdir())) >= step:
            step += 1
        elif ended:
            break
    assert step > 5
    assert offsets(spark, tmp_path) == list(range(1, COUNT + 1))


@pytest.mark.timeout(600)
def test_archiving_continues_after_the_driver_is_killed_with_all_of_spark(spark, sqlite_log, tmp_path):
    config = board(sqlite_log)
    command = [sys.executable, str(DYING), str(config), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert 0 < len(archived(tmp_path)) < COUNT
    run = Run("archive", spark, {"board": str(config)}, time.time_ns)
    settings = BoardSettings(sqlite_log.url, "", tmp_path)
    asyncio.run(archiver.archive(run, settings, "archive", accept_hole=False, tip=None))
    assert archived(tmp_path) == list(range(1, COUNT + 1))


def archived(folder: Path) -> list[int]:
    async def work() -> list[int]:
        async with ArchiveReader("archive", folder) as reader:
            return [record.offset async for record in reader.read("callboard.status")]

    return asyncio.run(work())


def board(log) -> Path:
    config = Path(log.url.removeprefix("sqlite:///")).with_name("callboard.toml")
    config.write_text(f'log = "{log.url}"\n')
    log.append("status", *[STATUS] * COUNT)
    log.append("package")
    return config


def stream(spark, source: str, config: Path, folder: Path):
    """Write all there is as files, in two batches of two tasks each."""
    table = spark.readStream.format(source).options(board=str(config), topic="status", maxRowsPerBatch="150").load()
    query = table.select("offset").writeStream.format("parquet")
    query.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    return query.start(str(folder / "out"))


def offsets(spark, folder: Path) -> list[int]:
    return sorted(row["offset"] for row in spark.read.parquet(str(folder / "out")).collect())
