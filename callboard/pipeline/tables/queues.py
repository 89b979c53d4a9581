"""The queues as they were at any moment of the log's history: what the publisher's queue cache answers live."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

ALL = ""
"""The publisher of the queue of a subscriber that follows everybody; and of packages that cannot be decoded."""

FETCHED = "coalesce(greatest(package.length, package.total_bytes), 0)"
"""The bytes of a package with its blobs, which a publisher before 1.2 did not count."""


def queued(package: DataFrame) -> DataFrame:
    """What lies in queues: offset, publisher, length, time_ns, ... A package that cannot be decoded is in all of them;
    one of kind TEST in none; and one with ``recipients`` only in theirs, see ``meant``.
    """
    return package.where("package is null or package.kind <> 'TEST'").selectExpr(
        "offset", "time_ns", f"coalesce(package.publisher, '{ALL}') as publisher", "package.package_id as package_id",
        "package.kind as kind", f"{FETCHED} as length", "package.paths as paths", "problem",
        "coalesce(package.recipients, array()) as recipients",
    )  # fmt: skip


def entries(package: DataFrame, standing: DataFrame) -> DataFrame:
    """A row for every package in every queue: the columns of ``queued``, behind ``subscriber`` and ``queue``."""
    queue = sql.when(sql.size("follows") > 0, sql.col("follows")).otherwise(sql.array(sql.lit(ALL)))
    wanted = standing.select("subscriber", "position", sql.explode(queue).alias("queue"))
    inside = (sql.col("offset") > sql.col("position")) & (
        (sql.col("queue") == ALL) | (sql.col("publisher") == ALL) | (sql.col("publisher") == sql.col("queue"))
    )
    return queued(package).join(sql.broadcast(wanted), inside & meant()).drop("position", "recipients")


def meant() -> Column:
    """The condition that a row of a package is about one that is for the row's subscriber."""
    return (sql.size("recipients") <= 0) | sql.array_contains("recipients", sql.col("subscriber"))


def queue_states(package: DataFrame, standing: DataFrame) -> DataFrame:
    """One row a queue: subscriber, instance, state, position, queue, size (packages), length (bytes), oldest_ns."""
    figures = entries(package, standing).groupBy("subscriber", "queue").agg(
        sql.count("*").alias("size"),
        sql.sum("length").alias("length"),
        sql.min_by("time_ns", "offset").alias("oldest_ns"),
    )  # fmt: skip
    follows = sql.when(sql.size("follows") > 0, sql.col("follows")).otherwise(sql.array(sql.lit(ALL)))
    known = standing.select("subscriber", "instance", "state", "position", sql.explode(follows).alias("queue"))
    found = known.join(figures, ["subscriber", "queue"], "left").na.fill(0, ["size", "length", "oldest_ns"])
    return found.select("subscriber", "instance", "state", "position", "queue", "size", "length", "oldest_ns")
