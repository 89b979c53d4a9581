"""The source inside of Spark: as a table, as a stream, and when workers are killed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from callboard.errors import OffsetOutOfRange
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status

COUNT = 3000
DEADLINE_S = 120.0
POLL_S = 0.02

STATUS = PackageStatusMessage(subscriber_instance="i", subscriber="s", publisher="p", offset=1, status=Status.IMPORTED)


@pytest.fixture
def options(sqlite_log) -> dict[str, str]:
    """A log with statuses, as options name it: Spark's Java process was started before this test set a variable."""
    config = Path(sqlite_log.url.removeprefix("sqlite:///")).with_name("callboard.toml")
    config.write_text(f'log = "{sqlite_log.url}"\n')
    for _ in range(COUNT // 1000):
        sqlite_log.append("status", *[STATUS] * 1000)
    return {"board": str(config), "topic": "status"}


def read(spark, options):
    return spark.read.format("callboard").options(**options)


def test_a_table_has_every_record_once_and_pushes_down_conditions_on_offsets(spark, options):
    table = read(spark, options).option("partitions", 3).load()
    figures = ("count(*)", "count(distinct offset)", "count(status.subscriber)", "count(problem)")
    [row] = table.selectExpr(*figures).collect()
    assert tuple(row) == (COUNT, COUNT, COUNT, 0)
    part = read(spark, options).option("pushdown", "true").load().where("offset > 100 and offset <= 200")
    assert [row["offset"] for row in part.select("offset").orderBy("offset").collect()] == list(range(101, 201))
    assert part.rdd.getNumPartitions() == 2
    some = read(spark, options).schema("offset bigint, status struct<status:string>").load()
    assert {row["status"]["status"] for row in some.collect()} == {"IMPORTED"}


def test_an_error_of_callboard_keeps_its_type_through_spark(spark, options):
    from callboard.pipeline.failure import explained

    with pytest.raises(OffsetOutOfRange, match="choose an offset inside"), explained():
        read(spark, options).option("startingOffset", COUNT + 2).load().count()


def test_a_table_is_complete_even_if_its_readers_are_killed(spark, options, tmp_path):
    """Each batch waits for the file ``go``: the workers are killed while they are at it."""

    def wait(batches):
        for batch in batches:
            if not (tmp_path / "go").exists():
                (tmp_path / f"pid-{os.getpid()}").touch()
            while not (tmp_path / "go").exists():
                time.sleep(POLL_S)
            yield batch

    table = read(spark, options).load().select("offset").mapInArrow(wait, "offset bigint")
    found: list[int] = []
    counting = threading.Thread(target=lambda: found.extend(row["offset"] for row in table.collect()))
    counting.start()
    deadline = time.monotonic() + DEADLINE_S
    while not (pids := [int(path.name[4:]) for path in tmp_path.glob("pid-*")]):
        assert time.monotonic() < deadline, "no worker has come so far"
        time.sleep(POLL_S)
    siblings = Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1]
    for worker in Path(f"/proc/{siblings}/task/{siblings}/children").read_text().split():
        os.kill(int(worker), signal.SIGKILL)
    (tmp_path / "go").touch()
    counting.join()
    assert sorted(found) == list(range(1, COUNT + 1))


@pytest.mark.proves("W3")
def test_a_stream_overtaken_by_retention_stops_with_an_error(spark, options, sqlite_log, tmp_path, awaited):
    from callboard.pipeline.failure import explained

    def run(**more: str) -> None:
        stream = spark.readStream.format("callboard").options(**options, **more).load().select("offset")
        query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
        awaited(query.trigger(availableNow=True).start)

    run()
    sqlite_log.append("status", *[STATUS] * 10)
    sqlite_log.trim("status", COUNT + 5)
    with pytest.raises(OffsetOutOfRange), explained():
        run()
