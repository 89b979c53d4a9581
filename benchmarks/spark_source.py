"""How fast Spark reads a PostgreSQL log, beside the bare driver, Spark's JDBC, and a source that only hands rows over.

Needs the extra ``spark`` and Java. ``--records`` sets the size, by default 1 million; each is measured at every power
of ten from 10^5 up to it. Spark's JDBC reader takes part if ``--jar`` names a driver's jar. All read the same columns
of the same records. The log and its readers share two cores; the notes show each part's processor time, which varies
less than elapsed time on a busy machine.
"""

import argparse
import asyncio
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import hand_over
import pyarrow as pa
from cpu_time import CpuTime
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from report import Report, quick, rounds
from spark_log import fill

from callboard.backends.postgres.server import Server
from callboard.pipeline.session import open_session
from callboard.pipeline.source.columns import NAMED, RAW, record_columns
from callboard.pipeline.source.decoding import decoded
from callboard.pipeline.source.place import Place
from callboard.pipeline.source.postgres_range import SOURCES
from callboard.pipeline.source.ranges import log_range
from callboard.testing.servers.postgres import postgres_server

CORES = 2
ROUNDS = 3
COLUMNS = {"records": tuple(RAW.names), "payloads": ("offset", "payload")}
"""Columns to read; "records" is everything but the key."""

KEPT_RECORDS = 100_000
CODEC_RECORDS = 2000


def rate(count: int, work: Callable[[], object]) -> Callable[[], float]:
    """Records a second."""

    def measured() -> float:
        begun = time.perf_counter()
        work()
        return count / (time.perf_counter() - begun)

    return measured


def stored(columns: Iterable[str]) -> str:
    """The columns in SQL, under the data source's names."""
    return ", ".join(f'{SOURCES.get(name, name)} AS "{name}"' for name in columns)


def sums(columns: Iterable[str]) -> list[str]:
    """Aggregates that look at every value of each column."""
    large = {name for name in RAW.names if pa.types.is_binary(RAW.field(name).type)}
    return ["count(*)", *(f"sum(octet_length({name}))" if name in large else f"max({name})" for name in columns)]


def bare(url: str, topic: str, columns: tuple[str, ...], low: int, high: int) -> None:
    """Records of the topic by the driver alone, thrown away."""
    server = Server.of(url)
    with adbc.connect(server.dsn) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {server.schema}.topics WHERE name = 'callboard.{topic}'")
        [number] = cursor.fetchone()
        cursor.execute(
            f"SELECT {stored(columns)} FROM {server.schema}.records_{number} "
            f"WHERE off >= {low} AND off < {high} ORDER BY off"
        )
        for _ in cursor.fetch_record_batch():
            pass


KEPT: list[pa.RecordBatch] = []
"""In each process of the pool: records of the package topic, decoded repeatedly."""


def keep(low: int, high: int, barrier: Any) -> None:
    """Runs once in each process of the pool: a barrier."""
    place = Place("package", log_variable="CALLBOARD_LOG")
    KEPT[:] = log_range(place, "callboard.package", "", low, high, RAW)
    barrier.wait()


def decode(count: int, fast: bool) -> None:
    """Decode that many of the records in this process."""
    columns = record_columns("package", decode=True, payload=False)
    for batch in KEPT:
        decoded(batch.slice(0, count), "package", columns, fast=fast)
        count -= min(count, len(batch))


class TwoProcesses:
    """The work of Spark's two tasks without Spark: the bare driver, and decoding."""

    def __init__(self, context: Any, count: int) -> None:
        self._kept = min(count // CORES, KEPT_RECORDS)
        self._count = count
        self._pool = context.Pool(CORES)
        barrier = context.Manager().Barrier(CORES)
        self._pool.starmap(keep, [(1, self._kept + 1, barrier)] * CORES, chunksize=1)

    def bare(self, url: str, columns: tuple[str, ...]) -> None:
        """Read the whole topic, each process a part."""
        edges = [1 + self._count * number // CORES for number in range(CORES + 1)]
        parts = [(url, "package", columns, low, high) for low, high in pairwise(edges)]
        self._pool.starmap(bare, parts, chunksize=1)

    def decode(self, *, fast: bool) -> float:
        """Decode their records, or with the codec a part of them."""
        each = self._kept if fast else min(self._kept, CODEC_RECORDS)
        work = [(each, fast)] * CORES
        return rate(each * CORES, lambda: self._pool.starmap(decode, work, chunksize=1))()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
        self._pool.join()


class Readers:
    """Each reads the package topic in two processes or tasks; Spark also looks at every value."""

    def __init__(self, spark: SparkSession, two: TwoProcesses, url: str, count: int, folder: Path) -> None:
        self._spark, self._two, self._url, self._count, self._folder = spark, two, url, count, folder

    def ours(self, columns: tuple[str, ...]) -> None:
        """The data source."""
        schema = from_arrow_schema(pa.schema([RAW.field(name) for name in columns]))
        self._ask(self._source("false").schema(schema).load(), columns)

    def bare(self, columns: tuple[str, ...]) -> None:
        """The driver alone, without Spark."""
        self._two.bare(self._url, columns)

    def handed(self, columns: tuple[str, ...]) -> None:
        """The same batches, prepared."""
        schema = from_arrow_schema(pa.schema([RAW.field(name) for name in columns]))
        source = self._spark.read.format("handover").option("folder", str(self._folder)).schema(schema)
        self._ask(source.load(), columns)

    def jdbc(self, columns: tuple[str, ...]) -> None:
        """Spark's own reader, by ranges of offsets as well."""
        server = Server.of(self._url)
        user, _, place = server.dsn.removeprefix("postgresql://").partition("@")
        name, _, password = user.partition(":")
        source = self._spark.read.format("jdbc").options(
            url=f"jdbc:postgresql://{place}", user=name, password=password, driver="org.postgresql.Driver",
            dbtable=f"(SELECT {stored(columns)} FROM {server.schema}.records_{asyncio.run(number(server))}) AS records",
            fetchsize="10000", partitionColumn="offset", lowerBound="1", upperBound=str(self._count),
            numPartitions=str(CORES),
        )  # fmt: skip
        self._ask(source.load(), columns)

    def named(self) -> None:
        """Also with headers as columns: everything that the source has without decoding."""
        self._ask(self._source("false").load(), (*RAW.names, *NAMED.names))

    def decoded(self) -> None:
        """Every field of the messages."""
        self._source("true").load().selectExpr("count(*)", "sum(package.length)").collect()

    def _source(self, decode: str) -> Any:
        options = {"logVariable": "CALLBOARD_LOG", "partitions": str(CORES), "topic": "package", "decode": decode}
        return self._spark.read.format("callboard").options(**options)

    def _ask(self, table: DataFrame, columns: Iterable[str]) -> None:
        [answer] = table.selectExpr(*sums(columns)).collect()
        assert answer[0] == self._count


async def number(server: Server) -> int:
    """Of the package topic."""
    connection = await server.connect()
    try:
        return int(await connection.fetchval("SELECT id FROM topics WHERE name = 'callboard.package'"))
    finally:
        await connection.close()


def measure(report: Report, readers: Readers, two: TwoProcesses, cpu: CpuTime, count: int, jar: str) -> None:
    contestants: dict[str, Callable[[], float]] = {}

    def add(name: str, work: Callable[[], object]) -> None:
        contestants[name] = cpu.rate(f"{name}, {count}", count, work)

    for what, columns in COLUMNS.items():
        for name in ("ours", "bare", "handed", *(["jdbc"] if jar else [])):
            add(f"{what} {name}", partial(getattr(readers, name), columns))
    add("named", readers.named)
    add("decoded", readers.decoded)
    contestants["decode"] = lambda: two.decode(fast=True)
    contestants["codec"] = lambda: two.decode(fast=False)
    figures = rounds(ROUNDS, contestants)
    size, unit = f"{count:,} records", "records/s"

    def row(question: str, name: str, peer: str = "", peer_name: str = "", goal: float | None = None) -> None:
        note = cpu.parts(f"{name}, {count}")
        if peer:
            ratio = cpu.total(f"{peer}, {count}") / cpu.total(f"{name}, {count}")
            note += f"; ratio of CPU time {ratio:.2f}"
        report.row(f"{question}, {size}", figures[name], figures.get(peer, ()), unit=unit, peer_name=peer_name,
                   goal=goal, note=note)  # fmt: skip

    for what in COLUMNS:
        row(f"read {what} in Spark, 2 tasks", f"{what} ours", f"{what} bare", "bare ADBC, 2 processes", 0.7)
        if jar:
            row(f"read {what} in Spark, 2 tasks", f"{what} ours", f"{what} jdbc", "Spark's JDBC", 0.8)
            row(f"{what} by Spark's JDBC", f"{what} jdbc", f"{what} bare", "bare ADBC, 2 processes")
        row(f"{what}: nothing but the hand-over", f"{what} handed", f"{what} bare", "bare ADBC, 2 processes")
        row(f"{what} by bare ADBC", f"{what} bare")
    row("read records and headers as columns in Spark", "named")
    row("read and decode packages in Spark, 2 tasks", "decoded")
    report.row(f"decode packages, 2 processes, {size}", figures["decode"], figures["codec"], unit=unit,
               peer_name="codec", note="goal: 500 k records/s")  # fmt: skip


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
        cpu = CpuTime({"server": server.pid, "Python": os.getpid()}, java="Java")
        count = min(100_000, said.records)
        while count <= said.records:
            asyncio.run(fill(server.tcp_url, count))
            two, batches = TwoProcesses(multiprocessing.get_context("spawn"), count), Path(folder) / f"batches-{count}"
            hand_over.prepare(spark, batches, Place("package", log_variable="CALLBOARD_LOG"), count, CORES)
            measure(report, Readers(spark, two, server.tcp_url, count, batches), two, cpu, count, said.jar)
            two.close()
            report.write()
            count *= 10
        spark.stop()


if __name__ == "__main__":
    main()
