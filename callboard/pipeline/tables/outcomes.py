"""What became of packages, by the statuses: each counts once, however often it was sent, and the last one holds."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

FAILURES = ("REMOVED_FAILED", "HELD", "HOOK_FAILED")
"""What is in an error queue until another status takes it out."""


def real(status: DataFrame, end: int) -> DataFrame:
    """Without what was told of packages that the log, which ends there, does not have."""
    return status.where(sql.col("status").isNull() | (sql.col("status.offset") < end))


def statuses(status: DataFrame) -> DataFrame:
    """Every status once, where it was first: ``told`` is the offset of its record, ``offset`` that of the package."""
    known = status.where("status is not null").selectExpr("offset as told", "status.*")
    known = known.withColumnRenamed("subscriber_instance", "instance")
    shared = ("publisher", "reason", "attempts", "package_id", "time_ns")
    return known.groupBy("subscriber", "instance", "sequence", "offset", "status").agg(
        *(sql.min_by(name, "told").alias(name) for name in shared), sql.min("told").alias("told")
    )


def outcomes(status: DataFrame) -> DataFrame:
    """One row for each subscriber and package of which a status tells: the last one."""
    newest = Window.partitionBy("subscriber", "publisher", "offset").orderBy(sql.desc("told"))
    return statuses(status).withColumn("place", sql.row_number().over(newest)).where("place = 1").drop("place")


def error_queues(outcome: DataFrame) -> DataFrame:
    """What is in the error queues."""
    return outcome.where(sql.col("status").isin(*FAILURES))


def failure_rates(outcome: DataFrame, standing: DataFrame) -> DataFrame:
    """One row a subscriber: packages by outcome, and the share of those tried that failed.

    What was removed, skipped, superseded or is held was neither imported nor did it fail. What is imported and has a
    hook that failed, but was settled, is imported. Only editable subscribers
    report imports one by one; of the others their own count is taken.
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
