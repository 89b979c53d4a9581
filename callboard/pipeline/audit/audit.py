"""Who shipped what to which path, when, and which subscribers have it since when."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from callboard.pipeline.tables.history import first_announced
from callboard.pipeline.tables.queues import FETCHED, meant
from callboard.pipeline.tables.standings import announcements


def path_index(package: DataFrame) -> DataFrame:
    """A row for each path of each package, sorted by path, so that a search reads a small part of the files."""
    rows = package.where("package is not null and package.kind <> 'TEST'").selectExpr(
        "explode(package.paths) as path", "offset", "time_ns", "package.publisher as publisher", "package.user as user",
        "package.kind as kind", "package.package_id as package_id", "package.request_id as request_id",
        f"{FETCHED} as length", "package.recipients as recipients",
    )  # fmt: skip
    return rows.sort("path", "offset")


def below(path: str) -> Column:
    """The condition that a row is about this path, something below it, or the whole of a folder above it."""
    path = path.rstrip("/")
    above = ["/", *(path[:place] for place, letter in enumerate(path) if letter == "/" and place)]
    return sql.col("path").isin(path or "/", *above) | sql.col("path").startswith(f"{path}/")


def deliveries(
    found: DataFrame, standing: DataFrame, discovery: DataFrame, outcome: DataFrame, log_id: str
) -> DataFrame:
    """A row for each of these packages (of ``path_index``) and each subscriber that it is for.

    ``state`` is ``has``, ``not yet``, ``before`` (its first announcement was already past the package), or a status:
    ``removed_failed``, ``held``, ``skipped``, ... ``since_ns`` is when it got the package: by its own report, or by its
    first announcement of a position at or above the package's.
    """
    packages = found.select("offset", "publisher", "recipients").dropDuplicates(["offset"])
    follows = (sql.size("follows") <= 0) | sql.array_contains("follows", sql.col("publisher"))
    pairs = packages.join(sql.broadcast(standing.select("subscriber", "position", "follows")), follows & meant())
    steps = first_announced(announcements(discovery), log_id)
    step = steps.select(sql.col("subscriber").alias("who"), sql.col("position").alias("at"), "had_ns")
    reached = pairs.join(step, (sql.col("who") == sql.col("subscriber")) & (sql.col("at") >= sql.col("offset")))
    heard = reached.groupBy("subscriber", "offset").agg(sql.min("had_ns").alias("announced_ns"))
    first = steps.groupBy("subscriber").agg(sql.min_by("position", "had_ns").alias("began"))
    told = outcome.select("subscriber", "offset", "status", sql.col("time_ns").alias("told_ns"), "reason")
    rows = pairs.join(heard, ["subscriber", "offset"], "left").join(told, ["subscriber", "offset"], "left")
    rows = rows.join(first, "subscriber", "left")
    has = sql.col("status").isin("IMPORTED", "HOOK_FAILED", "HOOK_SETTLED")
    state = (
        sql.when(has, "has")
        .when(sql.col("status").isNotNull(), sql.lower("status"))
        .when(sql.col("position") < sql.col("offset"), "not yet")
        .when(sql.col("began") >= sql.col("offset"), "before")
        .otherwise("has")
    )
    since = sql.when(has, sql.col("told_ns")).when(state == "has", sql.col("announced_ns"))
    return rows.select("offset", "subscriber", state.alias("state"), since.alias("since_ns"), "reason")
