"""Folds over every package and subscriber: latencies, and queue sizes over time.

The smaller side goes to every task as sorted arrays, in which the larger is looked up batch by batch, so no table with
a row for each package and subscriber is sorted or shuffled.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from callboard.actors.publisher.queues.queue import FOR_ALL, Streams, Wanted
from callboard.pipeline.tables.outcomes import statuses
from callboard.pipeline.tables.queues import queued
from callboard.pipeline.tables.standings import announcements

if TYPE_CHECKING:
    Batches: TypeAlias = Iterator[pa.RecordBatch]
    Array: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

MINUTE_NS = 60 * 10**9


def latencies(package: DataFrame, discovery: DataFrame, status: DataFrame, log_id: str) -> DataFrame:
    """One row per subscriber: packages, and the 50th, 95th and 99th percentile of seconds from log to content.

    ``basis`` is ``status`` for those that report every import, by their own clock, and ``announcement`` for the others,
    which are known to have a package once they announce a position at or above it, seconds after they got it.
    """
    imported = statuses(status).where("status = 'IMPORTED'").select("subscriber", "offset", "time_ns")
    told = imported.groupBy("subscriber", "offset").agg(sql.min("time_ns").alias("had_ns"))
    shipped = package.where("package is not null and package.kind <> 'TEST'").selectExpr("offset", "time_ns as sent_ns")
    reported = told.join(shipped, "offset").selectExpr("subscriber", "'status' as basis", "had_ns - sent_ns as took_ns")
    firsts = first_announced(announcements(discovery).where(~sql.col("editable")), log_id)
    arrays = {
        row["subscriber"]: (np.array(row["at"], "int64"), np.array(row["had"], "int64"))
        for row in _sorted_arrays(firsts)
    }
    announced = shipped.mapInArrow(_reached(arrays), "subscriber string, basis string, took_ns bigint")
    both = reported.unionByName(announced)
    seconds = [f"percentile_approx(took_ns, 0.{part}) / 1e9 as p{part}_s" for part in (50, 95, 99)]
    return both.groupBy("subscriber", "basis").agg(sql.count("*").alias("packages"), *map(sql.expr, seconds))


def first_announced(words: DataFrame, log_id: str) -> DataFrame:
    """When each subscriber first announced each position, including -1 for none: subscriber, position, had_ns."""
    steps = words.where((sql.col("log_id") == log_id) | (sql.col("position") < 0))
    return steps.groupBy("subscriber", "position").agg(sql.min("time_ns").alias("had_ns"))


def _sorted_arrays(firsts: DataFrame) -> list[Any]:
    pairs = sql.sort_array(sql.collect_list(sql.struct("position", "had_ns")))
    made = firsts.groupBy("subscriber").agg(pairs.alias("pairs"))
    return list(made.selectExpr("subscriber", "pairs.position as at", "pairs.had_ns as had").collect())


def _reached(steps: "dict[str, tuple[Array, Array]]") -> "Callable[[Batches], Batches]":
    """For packages, when each subscriber first announced a position at or above them.

    Packages that a subscriber had before its first announcement have no latency, and are left out.
    """

    def rows(batches: "Batches") -> "Batches":
        for batch in batches:
            offsets, sent = (np.asarray(batch.column(name)) for name in ("offset", "sent_ns"))
            for subscriber, (at, had) in steps.items():
                place: Any = np.searchsorted(at, offsets)
                inside = (place > 0) & (place < len(at))
                took = had[place[inside]] - sent[inside]
                yield pa.RecordBatch.from_pydict(
                    {
                        "subscriber": pa.array([subscriber]).take(pa.array(np.zeros(len(took), "int64"))),
                        "basis": pa.array(["announcement"]).take(pa.array(np.zeros(len(took), "int64"))),
                        "took_ns": pa.array(took),
                    }
                )

    return rows


def queue_sizes(package: DataFrame, discovery: DataFrame, log_id: str) -> DataFrame:
    """The size of each queue at the end of each minute in which its subscriber announced itself.

    Columns: subscriber, queue (the publisher, empty for all), minute_ns (its start), position, size.
    """
    said = announcements(discovery).where(sql.col("log_id") == log_id)
    minute = said.withColumn("minute_ns", sql.expr(f"time_ns - time_ns % {MINUTE_NS}"))
    last = minute.groupBy("subscriber", "minute_ns").agg(
        sql.max_by("position", "said").alias("position"), sql.max_by("follows", "said").alias("follows")
    )
    queue = sql.when(sql.size("follows") > 0, sql.col("follows")).otherwise(sql.array(sql.lit("")))
    wanted = last.select("subscriber", "minute_ns", "position", sql.explode(queue).alias("queue"))
    for_each = sql.when(sql.size("recipients") > 0, sql.col("recipients")).otherwise(sql.array(sql.lit(FOR_ALL)))
    columns = ("publisher", "offset", "time_ns", sql.explode(sql.array_distinct(for_each)).alias("recipient"))
    rows = queued(package).select(*columns).orderBy("offset").toPandas()
    rows["time_ns"] = rows["time_ns"].cummax()
    streams: Streams[tuple[Array, Array]] = {}
    for (recipient, publisher), mine in rows.groupby(["recipient", "publisher"]):
        streams.setdefault(recipient, {})[publisher] = mine["offset"].to_numpy(), mine["time_ns"].to_numpy()
    return wanted.mapInArrow(
        _sizes(streams), "subscriber string, queue string, minute_ns bigint, position bigint, size bigint"
    )


def _sizes(packages: "Streams[tuple[Array, Array]]") -> "Callable[[Batches], Batches]":
    """The number of packages of a queue between a position and the end of its minute."""

    def rows(batches: "Batches") -> "Batches":
        for batch in batches:
            sizes = []
            names = ("subscriber", "queue", "minute_ns", "position")
            columns = (batch.column(name).to_pylist() for name in names)
            for subscriber, queue, minute_ns, position in zip(*columns, strict=True):
                size = 0
                for offsets, times in Wanted(queue, position, subscriber).select(packages):
                    there = np.searchsorted(times, minute_ns + MINUTE_NS)
                    size += max(int(there - np.searchsorted(offsets, position, side="right")), 0)
                sizes.append(size)
            yield pa.RecordBatch.from_arrays(
                [*(batch.column(name) for name in names), pa.array(sizes, pa.int64())], names=[*names, "size"]
            )

    return rows
