"""The position of every subscriber: a fold over announcements and statuses; the publisher's fleet has it live."""

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from callboard.actors.core.claims import lease_s
from callboard.actors.core.lease import Claim, Holder
from callboard.messages.distribution.topic_messages import State
from callboard.pipeline.source.extent import Extent
from callboard.pipeline.tables.outcomes import real

if TYPE_CHECKING:
    import pandas as pd

_LAST = "subscriber string, instance string, said bigint"


def announcements(discovery: DataFrame) -> DataFrame:
    """The announcements as plain columns; ``said`` is the offset of the record."""
    return discovery.where("discovery is not null").selectExpr(
        "offset as said", "time_ns", "discovery.subscriber as subscriber", "discovery.subscriber_instance as instance",
        "discovery.state as state", "discovery.announce_interval_ms as interval_ms", "discovery.offset as position",
        "discovery.log_id as log_id", "discovery.configuration.follows as follows",
        "discovery.configuration.editable as editable", "discovery.imported as imported",
        "discovery.place as place", "discovery.lease_ms as lease_ms", "discovery.takes_over as takes_over",
        "discovery.term as term",
    )  # fmt: skip


def holders(discovery: DataFrame) -> DataFrame:
    """The holder of each name that is not forgotten: its instance, and its last announcement (``said``)."""
    words = announcements(discovery)
    forgotten = discovery.where("forgotten is not null").groupBy(sql.col("forgotten.subscriber").alias("subscriber"))
    gone = forgotten.agg(sql.max("offset").alias("gone"))
    words = words.join(sql.broadcast(gone), "subscriber", "left").where("gone is null or said > gone")
    first = sql.broadcast(discovery.agg(sql.min("offset").alias("oldest")))
    words = words.crossJoin(first).withColumn("first", sql.greatest("oldest", sql.col("gone") + 1))
    claims = ("first", "place", "lease_ms", "takes_over", "term")
    columns = words.select("subscriber", "said", "time_ns", "instance", "state", "interval_ms", *claims)
    return columns.groupBy("subscriber").applyInPandas(_last_word, _LAST)


def standings(discovery: DataFrame, status: DataFrame, extent: Extent) -> DataFrame:
    """One row per subscriber: instance, state, position (-1 for none), follows, editable, imported.

    The position is the highest that the holder of the name announced or reported as this instance: a newly seeded
    subscriber may be behind the one before it. Positions on a log other than that of the packages, or beyond its end,
    do not count.
    """
    words, held = announcements(discovery), holders(discovery)
    here = (sql.col("log_id") == extent.log_id) & (sql.col("position") < extent.end)
    announced = words.where(here).groupBy("subscriber", "instance")
    reported = (
        real(status, extent.end)
        .where("status is not null")
        .groupBy(
            sql.col("status.subscriber").alias("subscriber"), sql.col("status.subscriber_instance").alias("instance")
        )
    )
    positions = reduce(
        DataFrame.unionByName,
        (
            announced.agg(sql.max("position").alias("position")),
            reported.agg(sql.max("status.offset").alias("position")),
        ),
    )
    highest = positions.groupBy("subscriber", "instance").agg(sql.max("position").alias("position"))
    last = held.join(words.drop("position"), ["subscriber", "instance", "said"])
    found = last.join(highest, ["subscriber", "instance"], "left")
    return found.withColumn("position", sql.coalesce("position", sql.lit(-1)))


def _last_word(words: "pd.DataFrame") -> "pd.DataFrame":
    """The row of the announcement that counts, among all of one subscriber."""
    words = words.sort_values("said")
    if words["instance"].nunique() == 1:
        return words.tail(1)[["subscriber", "instance", "said"]]
    holder = Holder[Claim](int(words["first"].iloc[0]))
    for row in words.itertuples():
        holder.hear(
            Claim(
                speaker=(row.instance, row.place),
                offset=int(row.said),
                time_ns=int(row.time_ns),
                duration_s=lease_s(int(row.lease_ms), int(row.interval_ms)),
                takes_over=int(row.takes_over),
                term=int(row.term),
                leaves=row.state == State.STOPPED.name,
                by_time=not row.lease_ms,
            )
        )
    assert holder.last is not None, "a group has rows"
    return words[words["said"] == holder.last.offset][["subscriber", "instance", "said"]]
