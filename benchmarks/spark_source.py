"""What Spark reads of a PostgreSQL log beside the bare driver and Spark's JDBC, and how long questions to history take.

Needs the extra ``spark`` and Java. ``--records`` sets the size, 1 million if nothing else is said; from 10^5 on each
question is asked at every power of ten up to it, to show how it grows. Spark's JDBC reader joins in if ``--jar`` names
a driver's jar. The log and its readers share two cores.
"""

import argparse
import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from report import Report, quick, rounds

from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.postgres.server import Server
from callboard.messages.distribution import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.pipeline.columns import RAW, record_columns
from callboard.pipeline.decoding import decoded
from callboard.pipeline.place import Place
from callboard.pipeline.queues import queue_states
from callboard.pipeline.ranges import log_range
from callboard.pipeline.session import open_session
from callboard.pipeline.standings import standings
from callboard.pipeline.topics import TopicTables
from callboard.testing.postgres import postgres_server

SUBSCRIBERS = 50
CHUNK = 1000
CORES = 2
ROUNDS = 3
KEPT_RECORDS = 100_000
CODEC_RECORDS = 2000


def package(number: int) -> Event:
    return PackageMessage(
        publisher_instance="i", publisher=f"p{number % 4}", package_id=f"{number:032x}", kind=Kind.ADD, length=number,
        paths=(f"/site/{number % 1000}",), user="admin", content=b"x" * 100,
    )  # fmt: skip


def status(number: int) -> Event:
    who = number % SUBSCRIBERS
    return PackageStatusMessage(
        subscriber_instance=f"i{who}", subscriber=f"s{who}", publisher=f"p{number % 4}", offset=number // 2,
        status=Status.IMPORTED, sequence=number, time_ns=number,
    )  # fmt: skip


def announcement(number: int) -> Event:
    who = number % SUBSCRIBERS
    settings = SubscriberConfiguration(editable=True, max_retries=-1)
    return DiscoveryMessage(subscriber_instance=f"i{who}", subscriber=f"s{who}", configuration=settings, offset=number)


async def fill(url: str, count: int) -> None:
    """So many packages and statuses, and a word of each subscriber for every hundredth of them.

    The same thousand again and again: what makes them is not what is measured.
    """
    log = PostgresLog(url)
    for topic, make, number in (("package", package, count), ("status", status, count),
                                ("discovery", announcement, max(count // 100, SUBSCRIBERS))):  # fmt: skip
        name = f"callboard.{topic}"
        await log.ensure(name)
        records = [new_record(make(each), record_id="r", time_ns=1, producer="b/1") for each in range(CHUNK)]
        for low in range((await log.bounds(name)).end - 1, number, CHUNK):
            await log.append(name, records[: min(CHUNK, number - low)])
    await log.close()


def rate(count: int, work: Callable[[], object]) -> Callable[[], float]:
    """Records a second."""

    def measured() -> float:
        begun = time.perf_counter()
        work()
        return count / (time.perf_counter() - begun)

    return measured


def bare(url: str, topic: str, low: int, high: int) -> None:
    """Records of the topic by the driver alone, thrown away."""
    server = Server.of(url)
    with adbc.connect(server.dsn) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {server.schema}.topics WHERE name = 'callboard.{topic}'")
        [number] = cursor.fetchone()
        cursor.execute(
            f"SELECT off, time_ns, headers, payload FROM {server.schema}.records_{number} "
            f"WHERE off >= {low} AND off < {high} ORDER BY off"
        )
        for _ in cursor.fetch_record_batch():
            pass


KEPT: list[pa.RecordBatch] = []
"""Of each process of the pool: records of the package topic, to be decoded again and again."""


def keep(low: int, high: int, barrier: Any) -> None:
    """Each process of the pool does this once: none comes out before all have come in."""
    place = Place("package", log_variable="CALLBOARD_LOG")
    KEPT[:] = log_range(place, "callboard.package", "", low, high, RAW)
    barrier.wait()


def decode(count: int, fast: bool) -> None:
    """Decode so many of the records that this process keeps."""
    columns = record_columns("package", decode=True, payload=False)
    for batch in KEPT:
        decoded(batch.slice(0, count), "package", columns, fast=fast)
        count -= min(count, len(batch))


class TwoProcesses:
    """What Spark's two tasks do, without Spark: the bare driver, and decoding."""

    def __init__(self, context: Any, count: int) -> None:
        self._kept = min(count // CORES, KEPT_RECORDS)
        self._count = count
        self._pool = context.Pool(CORES)
        barrier = context.Manager().Barrier(CORES)
        self._pool.starmap(keep, [(1, self._kept + 1, barrier)] * CORES, chunksize=1)

    def bare(self, url: str) -> float:
        """Read the whole topic, each process a part."""
        edges = [1 + self._count * number // CORES for number in range(CORES + 1)]
        parts = [(url, "package", low, high) for low, high in pairwise(edges)]
        return rate(self._count, lambda: self._pool.starmap(bare, parts, chunksize=1))()

    def decode(self, *, fast: bool) -> float:
        """Decode what they keep, or with the codec a part of it."""
        each = self._kept if fast else min(self._kept, CODEC_RECORDS)
        work = [(each, fast)] * CORES
        return rate(each * CORES, lambda: self._pool.starmap(decode, work, chunksize=1))()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
        self._pool.join()


def measure(report: Report, spark: SparkSession, two: TwoProcesses, url: str, count: int, jar: str) -> None:
    """Every round makes its tables anew: of one that was computed before, Spark still has the shuffled part."""
    options = {"logVariable": "CALLBOARD_LOG", "partitions": str(CORES), "topic": "package"}
    sums = ("count(*)", "max(offset)", "sum(octet_length(payload))")

    def source(decode: bool) -> DataFrame:
        return spark.read.format("callboard").options(**options, decode=str(decode)).load()

    contestants = {
        "bare": lambda: two.bare(url),
        "raw": rate(count, lambda: source(False).selectExpr(*sums).collect()),
        "decoded": rate(count, lambda: source(True).selectExpr("count(*)", "sum(package.length)").collect()),
        "decode": lambda: two.decode(fast=True),
        "codec": lambda: two.decode(fast=False),
        "queues": rate(count, lambda: queues(spark, {"logVariable": "CALLBOARD_LOG"})),
    }
    if jar:
        contestants["jdbc"] = rate(count, lambda: jdbc(spark, url, count).selectExpr(*sums).collect())
    figures = rounds(ROUNDS, contestants)
    size = f"{count:,} records"
    report.row(f"read payloads in Spark, 2 tasks, {size}", figures["raw"], figures["bare"], unit="records/s",
               peer_name="bare ADBC, 2 processes", goal=0.7)  # fmt: skip
    if jar:
        report.row(f"read payloads in Spark, 2 tasks, {size}", figures["raw"], figures["jdbc"], unit="records/s",
                   peer_name="Spark's JDBC", goal=0.8)  # fmt: skip
    report.row(f"read and decode packages in Spark, 2 tasks, {size}", figures["decoded"], unit="records/s")
    report.row(f"decode packages, 2 processes, {size}", figures["decode"], figures["codec"], unit="records/s",
               peer_name="codec", note="goal: 500 k records/s")  # fmt: skip
    took = f"{count / sorted(figures['queues'])[ROUNDS // 2]:.1f} s"
    report.row(f"all queues of {SUBSCRIBERS} subscribers, {size} and as many statuses", figures["queues"],
               unit="packages/s", note=took)  # fmt: skip


def jdbc(spark: SparkSession, url: str, count: int) -> DataFrame:
    async def number() -> int:
        connection = await Server.of(url).connect()
        try:
            return int(await connection.fetchval("SELECT id FROM topics WHERE name = 'callboard.package'"))
        finally:
            await connection.close()

    server = Server.of(url)
    user, _, place = server.dsn.removeprefix("postgresql://").partition("@")
    name, _, password = user.partition(":")
    return spark.read.format("jdbc").options(
        url=f"jdbc:postgresql://{place}", user=name, password=password, driver="org.postgresql.Driver",
        dbtable=f"(SELECT off AS \"offset\", payload FROM {server.schema}.records_{asyncio.run(number())}) AS records",
        fetchsize="10000", partitionColumn="offset", lowerBound="1", upperBound=str(count), numPartitions="2",
    ).load()  # fmt: skip


def queues(spark: SparkSession, options: dict[str, str]) -> None:
    topics = TopicTables(spark, options, 2)
    discovery, statuses, packages = (topics.table(name) for name in ("discovery", "status", "package"))
    found = queue_states(packages, standings(discovery, statuses, topics.extent("package").log_id)).collect()
    assert len(found) == SUBSCRIBERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000 if quick() else 1_000_000)
    parser.add_argument("--jar", default="", help="PostgreSQL's JDBC driver")
    parser.add_argument("--quick", action="store_true", help="100 000 records")
    said = parser.parse_args()
    report = Report("spark_source")
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        os.environ["CALLBOARD_LOG"] = server.tcp_url
        jars = {"spark.jars": str(Path(said.jar).absolute())} if said.jar else {}
        spark = open_session("benchmark", {"spark.local.dir": folder, **jars})
        count = min(100_000, said.records)
        while count <= said.records:
            asyncio.run(fill(server.tcp_url, count))
            two = TwoProcesses(multiprocessing.get_context("spawn"), count)
            measure(report, spark, two, server.tcp_url, count, said.jar)
            two.close()
            count *= 10
        spark.stop()
    report.write()


if __name__ == "__main__":
    main()
