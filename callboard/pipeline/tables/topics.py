"""The topics of one log as tables, each up to its end at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from callboard.pipeline.source.extent import Extent, look
from callboard.pipeline.source.place import Place

SCHEMAS = {
    "package": "offset bigint, time_ns bigint, problem string, package struct<publisher:string, package_id:string, "
    "kind:string, length:bigint, paths:array<string>, deep_paths:array<string>, user:string, entries:bigint, "
    "request_id:string, recipients:array<string>, total_bytes:bigint>",
    "status": "offset bigint, time_ns bigint, problem string, status struct<subscriber_instance:string, "
    "subscriber:string, publisher:string, offset:bigint, status:string, reason:string, attempts:bigint, "
    "package_id:string, sequence:bigint, time_ns:bigint>",
    "discovery": "offset bigint, time_ns bigint, problem string, discovery struct<subscriber_instance:string, "
    "subscriber:string, configuration:struct<editable:boolean, follows:array<string>>, state:string, offset:bigint, "
    "log_id:string, imported:bigint, announce_interval_ms:bigint, place:string, lease_ms:bigint, "
    "takes_over:bigint, term:bigint>, forgotten struct<subscriber:string>",
}
"""The columns that jobs need of each topic: others, payloads above all, are not decoded or not even fetched."""


@dataclass(slots=True)
class TopicRead:
    """What was read of a topic: the offsets ``[start, stop)``, the number of records, and of undecodable ones."""

    start: int
    stop: int
    records: int = 0
    problems: int = 0


@dataclass
class TopicTables:
    """The topics at the time of construction.

    Args:
        spark: the session.
        options: of the data source: ``board``, ``archive``, ...
        partitions: parallel tasks that read a topic.
    """

    spark: SparkSession
    options: Mapping[str, str]
    partitions: int
    read: dict[str, TopicRead] = field(default_factory=dict)
    _extents: dict[str, Extent] = field(default_factory=dict)
    _kept: list[DataFrame] = field(default_factory=list)

    def extent(self, topic: str) -> Extent:
        """The topic's extent at the first call, which looks at packages last, so that no position is beyond them."""
        for name in reversed(SCHEMAS):
            if name not in self._extents:
                self._extents[name] = look(Place.of({**self.options, "topic": name}))
        return self._extents[topic]

    def table(self, topic: str, start: int | None = None, stop: int | None = None) -> DataFrame:
        """The records in ``[start, stop)``, or all, with the columns of ``SCHEMAS``."""
        extent = self.extent(topic)
        start, stop = extent.first if start is None else start, extent.end if stop is None else stop
        source = self.spark.read.format("callboard").options(**self.options).schema(SCHEMAS[topic])
        return source.options(
            topic=topic, startingOffset=str(start), endingOffset=str(stop), logId=extent.log_id,
            partitions=str(self.partitions),
        ).load()  # fmt: skip

    def kept(self, topic: str, start: int | None = None, stop: int | None = None) -> DataFrame:
        """The same, counted, and read and decoded only once; until ``release``."""
        table = self.table(topic, start, stop).persist(StorageLevel.DISK_ONLY)
        self._kept.append(table)
        records, problems = table.selectExpr("count(*)", "count(problem)").collect()[0]
        extent = self.extent(topic)
        known = self.read.setdefault(topic, TopicRead(extent.first if start is None else start, 0))
        known.stop = extent.end if stop is None else stop
        known.records += records
        known.problems += problems
        return table

    def release(self) -> None:
        """Release the kept tables."""
        while self._kept:
            self._kept.pop().unpersist()
