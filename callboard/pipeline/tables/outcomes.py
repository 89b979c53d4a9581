"""The outcomes of packages, by their statuses: each counts once even if sent repeatedly, and the last one wins."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

FAILURES = ("REMOVED_FAILED", "HELD", "HOOK_FAILED")
"""The statuses that put a package into an error queue, until another status takes it out."""


def real(status: DataFrame, end: int) -> DataFrame:
    """The statuses without those of packages at or beyond the log's ``end``."""
    return status.where(sql.col("status").isNull() | (sql.col("status.offset") < end))


def statuses(status: DataFrame) -> DataFrame:
    """Every status once, at its first record: ``told`` is that record's offset, ``offset`` that of the package."""
    known = status.where("status is not null").selectExpr("offset as told", "status.*")
    known = known.withColumnRenamed("subscriber_instance", "instance")
    shared = ("publisher", "reason", "attempts", "package_id", "time_ns")
    return known.groupBy("subscriber", "instance", "sequence", "offset", "status").agg(
        *(sql.min_by(name, "told").alias(name) for name in shared), sql.min("told").alias("told")
    )


def outcomes(status: DataFrame) -> DataFrame:
    """The last status for each subscriber and package."""
    newest = Window.partitionBy("subscriber", "publisher", "offset").orderBy(sql.desc("told"))
    return statuses(status).withColumn("place", sql.row_number().over(newest)).where("place = 1").drop("place")


def error_queues(outcome: DataFrame) -> DataFrame:
    """The packages in the error queues."""
    return outcome.where(sql.col("status").isin(*FAILURES))


def failure_rates(outcome: DataFrame, standing: DataFrame) -> DataFrame:
    """One row per subscriber: packages by outcome, and the share of tried packages that failed.

    Removed, skipped, superseded and held packages count as neither imported nor failed. A package whose hook failed
    and was settled counts as imported. Only editable subscribers report each import; for the others, their own count
    is used.
    """
    names = ("IMPORTED", "REMOVED_FAILED", "REMOVED", "SUPERSEDED", "SKIPPED", "HELD", "HOOK_FAILED")
    settled = sql.when(sql.col("status") == "HOOK_SETTLED", "IMPORTED").otherwise(sql.col("status"))
    by_subscriber = outcome.withColumn("status", settled).groupBy("subscriber")
    counted = by_subscriber.pivot("status", list(names)).count().na.fill(0)
    for name in names:
        counted = counted.withColumnRenamed(name, name.lower())
    own = standing.select("subscriber", "editable", sql.col("imported").alias("own"))
    rows = own.join(counted, "subscriber", "left").na.fill(0)
    rows = rows.withColumn("imported", sql.when(sql.col("editable"), sql.col("imported") + sql.col("hook_failed"))
                           .otherwise(sql.col("own"))).drop("own")  # fmt: skip
    tried = sql.col("imported") + sql.col("removed_failed")
    return rows.withColumn("failure_rate", sql.when(tried > 0, sql.col("removed_failed") / tried))
