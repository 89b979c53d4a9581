"""The queues at any moment in the log's history; the publisher's queue cache has them live."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

ALL = ""
"""The publisher of the queue of a subscriber that follows all publishers; also that of undecodable packages."""

FETCHED = "coalesce(greatest(package.length, package.total_bytes), 0)"
"""The bytes of a package with its blobs; a publisher before 1.2 did not count the blobs."""


def queued(package: DataFrame) -> DataFrame:
    """The packages in queues: offset, publisher, length, time_ns, ... An undecodable package is in all queues, one of
    kind TEST in none, and one with ``recipients`` only in theirs, see ``meant``.
    """
    return package.where("package is null or package.kind <> 'TEST'").selectExpr(
        "offset", "time_ns", f"coalesce(package.publisher, '{ALL}') as publisher", "package.package_id as package_id",
        "package.kind as kind", f"{FETCHED} as length", "package.paths as paths", "problem",
        "coalesce(package.recipients, array()) as recipients",
    )  # fmt: skip


def entries(package: DataFrame, standing: DataFrame) -> DataFrame:
    """A row for every package in every queue: ``subscriber``, ``queue``, and the columns of ``queued``."""
    queue = sql.when(sql.size("follows") > 0, sql.col("follows")).otherwise(sql.array(sql.lit(ALL)))
    wanted = standing.select("subscriber", "position", sql.explode(queue).alias("queue"))
    inside = (sql.col("offset") > sql.col("position")) & (
        (sql.col("queue") == ALL) | (sql.col("publisher") == ALL) | (sql.col("publisher") == sql.col("queue"))
    )
    return queued(package).join(sql.broadcast(wanted), inside & meant()).drop("position", "recipients")


def meant() -> Column:
    """The condition that the row's package is for the row's subscriber."""
    return (sql.size("recipients") <= 0) | sql.array_contains("recipients", sql.col("subscriber"))


def queue_states(package: DataFrame, standing: DataFrame) -> DataFrame:
    """One row per queue: subscriber, instance, state, position, queue, size (packages), length (bytes), oldest_ns."""
    figures = entries(package, standing).groupBy("subscriber", "queue").agg(
        sql.count("*").alias("size"),
        sql.sum("length").alias("length"),
        sql.min_by("time_ns", "offset").alias("oldest_ns"),
    )  # fmt: skip
    follows = sql.when(sql.size("follows") > 0, sql.col("follows")).otherwise(sql.array(sql.lit(ALL)))
    known = standing.select("subscriber", "instance", "state", "position", sql.explode(follows).alias("queue"))
    found = known.join(figures, ["subscriber", "queue"], "left").na.fill(0, ["size", "length", "oldest_ns"])
    return found.select("subscriber", "instance", "state", "position", "queue", "size", "length", "oldest_ns")
