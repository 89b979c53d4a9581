"""What Spark reads of a PostgreSQL log, beside the bare driver in one process; and how long questions to history take.

Needs the extra ``spark`` and Java. ``--records`` sets the size, 1 million if nothing else is said; from 10^5 on each
question is asked at every power of ten up to it, to show how it grows. Spark's JDBC reader joins in if ``--jar`` names
a driver's jar.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
from report import Report, rounds

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
    """So many packages and statuses, and a word of each subscriber for every hundredth of them."""
    log = PostgresLog(url)
    for topic, make, number in (("package", package, count), ("status", status, count),
                                ("discovery", announcement, max(count // 100, SUBSCRIBERS))):  # fmt: skip
        name = f"callboard.{topic}"
        await log.ensure(name)
        done = (await log.bounds(name)).end - 1
        for low in range(done, number, CHUNK):
            events = (make(each) for each in range(low, min(low + CHUNK, number)))
            await log.append(name, [new_record(event, record_id="r", time_ns=1, producer="b/1") for event in events])
    await log.close()


def rate(count: int, work: Callable[[], object]) -> Callable[[], float]:
    """Records a second."""

    def measured() -> float:
        begun = time.perf_counter()
        work()
        return count / (time.perf_counter() - begun)

    return measured


def bare(url: str, topic: str) -> None:
    """All of the topic by the driver alone, in one process, thrown away."""
    server = Server.of(url)
    with adbc.connect(server.dsn) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {server.schema}.topics WHERE name = 'callboard.{topic}'")
        [number] = cursor.fetchone()
        cursor.execute(f"SELECT off, time_ns, headers, payload FROM {server.schema}.records_{number}")
        for _ in cursor.fetch_record_batch():
            pass


def measure(report: Report, spark, url: str, count: int, jar: str) -> None:
    options = {"logVariable": "CALLBOARD_LOG", "partitions": "2"}
    source = spark.read.format("callboard").options(**options)
    sums = ("count(*)", "max(offset)", "sum(octet_length(payload))")
    raw = source.options(topic="package", decode="false").load().selectExpr(*sums)
    rows = source.options(topic="package", decode="true").load().selectExpr("count(*)", "sum(package.length)")
    place = Place("package", log_variable="CALLBOARD_LOG")
    kept = list(log_range(place, "callboard.package", "", 1, min(count, 100_000) + 1, RAW))
    columns = record_columns("package", decode=True, payload=False)
    few = kept[0].slice(0, 10_000)
    contestants = {
        "bare": rate(count, lambda: bare(url, "package")),
        "raw": rate(count, raw.collect),
        "decoded": rate(count, rows.collect),
        "decode": rate(sum(map(len, kept)), lambda: [decoded(batch, "package", columns) for batch in kept]),
        "codec": rate(len(few), lambda: decoded(few, "package", columns, fast=False)),
        "queues": rate(count, lambda: queues(spark, options)),
    }  # fmt: skip
    if jar:
        contestants["jdbc"] = rate(count, jdbc(spark, url, count).selectExpr(*sums).collect)
    figures = rounds(3, contestants)
    size = f"{count:,} records"
    report.row(f"read payloads in Spark, 2 tasks, {size}", figures["raw"], figures["bare"], unit="records/s",
               peer_name="bare ADBC, 1 process", goal=0.5)  # fmt: skip
    if jar:
        report.row(f"read payloads, {size}", figures["raw"], figures["jdbc"], unit="records/s", peer_name="JDBC")
    report.row(f"read and decode packages in Spark, {size}", figures["decoded"], unit="records/s")
    report.row("decode packages, one core", figures["decode"], figures["codec"], unit="records/s", peer_name="codec")
    took = f"{count / sorted(figures['queues'])[1]:.1f} s"
    report.row(f"all queues of {SUBSCRIBERS} subscribers, {size} and as many statuses", figures["queues"],
               unit="packages/s", note=took)  # fmt: skip


def jdbc(spark, url: str, count: int):
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


def queues(spark, options: dict[str, str]) -> None:
    topics = TopicTables(spark, options, 2)
    discovery, statuses, packages = (topics.table(name) for name in ("discovery", "status", "package"))
    found = queue_states(packages, standings(discovery, statuses, topics.extent("package").log_id)).collect()
    assert len(found) == SUBSCRIBERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--jar", default="", help="PostgreSQL's JDBC driver")
    said = parser.parse_args()
    report = Report("spark_source")
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        os.environ["CALLBOARD_LOG"] = server.tcp_url
        jars = {"spark.jars": str(Path(said.jar).absolute())} if said.jar else {}
        spark = open_session("benchmark", {"spark.local.dir": folder, **jars})
        count = min(100_000, said.records)
        while count <= said.records:
            asyncio.run(fill(server.tcp_url, count))
            measure(report, spark, server.tcp_url, count, said.jar)
            count *= 10
        spark.stop()
    report.write()


if __name__ == "__main__":
    main()
