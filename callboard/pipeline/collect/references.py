"""References to blobs: the packages and command results on the log and in its archive."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.storagelevel import StorageLevel

from callboard.archive.reader import ArchiveReader
from callboard.archive.topic_archive import TopicArchive
from callboard.backends.address import shown
from callboard.errors import ArchiveDamaged, ArchiveHole, LogReplaced, Undecodable
from callboard.messages.headers import SCHEMA_VERSION
from callboard.pipeline.source.extent import look
from callboard.pipeline.source.place import Place

SCHEMAS = {
    "package": "offset bigint, headers binary, type string, problem string, "
    "package struct<content_ref:string, blobs:array<string>>",
    "status": "offset bigint, headers binary, type string, problem string, result struct<listing_ref:string>",
}
"""The topics whose records refer to blobs."""

REFER_TO_NOTHING = ("PackageStatusMessage", "PingMessage")
"""Types on the topic ``status`` that never refer to blobs; an unknown type may."""

MINOR = r"(?s)(?:^|\u0000)version\u0000\d+\.(\d+)(?:\u0000|$)"
"""Finds the minor version in a block of headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The records ``[start, stop)`` of the topic ``name`` with the identity ``log_id``; ``archived`` if some are."""

    name: str
    log_id: str
    start: int
    stop: int
    archived: bool


def spans(options: Mapping[str, str], after: Mapping[str, Span] | None = None) -> dict[str, Span]:
    """The span of each topic now; with ``after``, only the records since.

    Raises:
        ArchiveHole: a part of the archive is missing, so its references are unknown.
        ArchiveDamaged: the archive has no packages.
        LogReplaced: the log is not that of the archive, or not that of ``after``.
    """
    return {topic: _span(options, topic, after[topic] if after else None) for topic in SCHEMAS}


def _span(options: Mapping[str, str], topic: str, after: Span | None) -> Span:
    place = Place.of({**options, "topic": topic, "from": "log"})
    extent, first, archived = look(place), -1, None
    if place.archive:
        archived = asyncio.run(_archived(place, extent.name))
    if archived is not None:
        first = _checked(archived, place.archive, extent.log_id, extent.first)
    start = extent.first if first < 0 else min(first, extent.first)
    if after is not None:
        if after.log_id != extent.log_id or extent.end < after.stop:
            raise LogReplaced(
                f"topic {extent.name!r} was replaced after these blobs were put under quarantine; start over"
            )
        start = max(start, after.stop)
    return Span(name=extent.name, log_id=extent.log_id, start=start, stop=extent.end, archived=archived is not None)


async def _archived(place: Place, name: str) -> TopicArchive | None:
    async with ArchiveReader(place.archive, Path.cwd()) as reader:
        found = await reader.topic(name)
    if found is None and place.topic == "package":
        raise ArchiveDamaged(
            f"the archive {shown(place.archive)} has nothing of topic {name!r}, so the blobs that it refers to "
            "are unknown; run `callboard archive run`, or correct its name"
        )
    return found


def _checked(found: TopicArchive, place: str, log_id: str, log_first: int) -> int:
    """The first offset of the archive, if it is complete."""
    if found.tip.log_id != log_id:
        raise LogReplaced(f"the archive {shown(place)} is not that of topic {found.topic!r}; name that of this log")
    if found.holes or found.next < log_first:
        first, stop = (found.holes[0].first, found.holes[0].next) if found.holes else (found.next, log_first)
        raise ArchiveHole(
            f"the archive of topic {found.topic!r} has a hole from {first} up to {stop}, so the blobs that "
            "its records refer to are unknown; if it will not be replayed, unset archive.place, or name another one"
        )
    return found.first


@contextmanager
def references(
    spark: SparkSession, options: Mapping[str, str], read: Mapping[str, Span], partitions: int
) -> Iterator[tuple[DataFrame, dict[str, int]]]:
    """The keys that records of these spans refer to, with duplicates; and the number of records of each topic.

    Raises ``Undecodable`` if a record cannot be read, because it may refer to any blob.
    """
    kept: list[DataFrame] = []
    try:
        counts = {}
        for topic, span in read.items():
            table = _table(spark, options, topic, span, partitions).persist(StorageLevel.DISK_ONLY)
            kept.append(table)
            counts[topic] = _checked_records(table, span)
        keys = [table.select(sql.explode("digests").alias("digest")) for table in kept]
        both = reduce(DataFrame.unionByName, keys).selectExpr("unhex(digest) as key")
        yield both.where("length(key) = 32"), counts
    finally:
        for table in kept:
            table.unpersist()


def _table(spark: SparkSession, options: Mapping[str, str], topic: str, span: Span, partitions: int) -> DataFrame:
    """For each record ``offset``, ``unreadable`` (the reason, or null) and ``digests``."""
    archive = {"from": "both" if span.archived else "log"}
    source = spark.read.format("callboard").options(**options).options(**archive).schema(SCHEMAS[topic])
    records = source.options(
        topic=topic, startingOffset=str(span.start), endingOffset=str(span.stop), logId=span.log_id,
        partitions=str(partitions),
    ).load()  # fmt: skip
    digests = "array(result.listing_ref)" if topic == "status" else "concat(package.blobs, array(package.content_ref))"
    return records.select("offset", _unreadable(topic).alias("unreadable"), sql.expr(digests).alias("digests"))


def _unreadable(topic: str) -> Column:
    """Why a record's references cannot be read; null if they can."""
    problem = sql.col("problem")
    if topic == "status":
        harmless = sql.coalesce(sql.col("type"), sql.lit("")).isin(*REFER_TO_NOTHING)
        return sql.when(~harmless, problem)
    minor = sql.regexp_extract(sql.col("headers").cast("string"), MINOR, 1)
    newer = sql.format_string("the record at offset %d is of a newer version: upgrade callboard", "offset")
    return sql.coalesce(problem, sql.when(minor.try_cast("bigint") > SCHEMA_VERSION[1], newer))


def _checked_records(table: DataFrame, span: Span) -> int:
    first = sql.min(sql.when(sql.col("unreadable").isNotNull(), sql.struct("offset", "unreadable")))
    [(count, found)] = table.agg(sql.count("*"), first).collect()
    if found is not None:
        raise Undecodable(
            f"topic {span.name}: {found['unreadable']}; it may refer to any blob, so none is removed while it is there"
        )
    return int(count)
