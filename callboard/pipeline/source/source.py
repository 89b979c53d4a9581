"""The data source ``callboard``: a topic of the log, of an archive, or of both, as a table or a stream.

Register it, then name it::

    spark.dataSource.register(CallboardSource)
    spark.read.format("callboard").option("board", "callboard.toml").option("topic", "status").load()

``docs/pipeline.md`` has its options.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from callboard.archive.topic_archive import TopicArchive
from callboard.errors import ConfigError
from callboard.pipeline.source.columns import record_columns
from callboard.pipeline.source.decoding import decoded
from callboard.pipeline.source.extent import Extent, look, look_at_archive, offset_option
from callboard.pipeline.source.place import Place
from callboard.pipeline.source.ranges import archive_range, log_range, wanted_raw

PARTITIONS = 2
"""The default number of parallel read tasks; each takes a connection to the log's server."""


_BOUNDS: dict[type[Filter], tuple[int | None, int | None]] = {
    GreaterThan: (1, None), GreaterThanOrEqual: (0, None), LessThan: (None, 0), LessThanOrEqual: (None, 1),
    EqualTo: (0, 1),
}  # fmt: skip
"""The first offset that each condition allows, and the first above that it does not, from its value on."""


@dataclass(frozen=True)
class Range(InputPartition):  # type: ignore[misc]
    """The records in ``[start, stop)``; from the archive if there are ``files``."""

    extent: Extent
    start: int
    stop: int
    files: TopicArchive | None = None


class CallboardSource(DataSource):  # type: ignore[misc]
    """See the module."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._place = Place.of(options)

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "callboard"

    def schema(self) -> StructType:
        """All columns; a schema given with ``.schema`` may have a subset, also within a message."""
        columns = record_columns(
            self._place.topic, decode=_flag(self.options, "decode", True), payload=_flag(self.options, "payload", False)
        )
        return from_arrow_schema(columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A table of the records at planning time."""
        kind = FilteringReader if _flag(self.options, "pushdown", False) else BatchReader
        return kind(self._place, dict(self.options), _columns(self._place, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A stream, which resumes at its checkpoint."""
        if self._place.sort != "log":
            raise ConfigError("only the log can be followed; leave out the option archive, or read it as a table")
        return StreamReader(self._place, dict(self.options), _columns(self._place, schema))


class _Reading:
    """The base of all readers. Planning and reading raise ``OffsetOutOfRange`` and ``LogReplaced``."""

    def __init__(self, place: Place, options: dict[str, str], columns: pa.Schema) -> None:
        self._place, self._options, self._columns = place, options, columns
        self._partitions = _number(options, "partitions", PARTITIONS)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range; runs in a worker."""
        if not isinstance(partition, Range):
            return  # Spark's substitute for no partitions at all
        place, extent, raw = self._place, partition.extent, wanted_raw(self._columns)
        if partition.files is not None:
            batches = archive_range(place, partition.files, partition.start, partition.stop, raw)
        else:
            batches = log_range(place, extent.name, extent.log_id, partition.start, partition.stop, raw)
        for batch in batches:
            yield decoded(batch, place.topic, self._columns)

    def _split(self, extent: Extent, start: int, stop: int) -> list[Range]:
        start = max(start, extent.first)
        parts: list[Range] = []
        if start < min(extent.archived, stop):
            files, middle = look_at_archive(self._place), min(extent.archived, stop)
            parts = [Range(extent, low, high, files) for low, high in _even(start, middle, self._partitions)]
            start = middle
        return parts + [Range(extent, low, high) for low, high in _even(start, stop, self._partitions)]


class BatchReader(_Reading, DataSourceReader):  # type: ignore[misc]
    """Reads the records that exist at planning time."""

    low, high = 0, -1

    def partitions(self) -> Sequence[Range]:
        """Ranges of offsets, one for each task."""
        extent = look(self._place)
        start = offset_option(self._options.get("startingoffset", "earliest"), "startingOffset", extent)
        stop = offset_option(self._options.get("endingoffset", "latest"), "endingOffset", extent)
        extent.check(start, self._options.get("logid", ""))
        extent.check(stop, "")
        stop = stop if self.high < 0 else min(stop, self.high)
        return self._split(extent, max(start, self.low), stop)


class FilteringReader(BatchReader):
    """Also takes conditions on ``offset``. Spark rejects such a reader unless filter pushdown is enabled."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Yield the filters left to Spark."""
        for condition in filters:
            if getattr(condition, "attribute", None) != ("offset",) or not self._take(condition):
                yield condition

    def _take(self, condition: Filter) -> bool:
        if type(condition) not in _BOUNDS:
            return False
        least, stop = _BOUNDS[type(condition)]
        if least is not None:
            self.low = max(self.low, condition.value + least)
        if stop is not None:
            high = condition.value + stop
            self.high = max(high if self.high < 0 else min(self.high, high), 0)
        return True


class StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Follows the log. Its offsets have the identity of the topic, so a checkpoint is invalid for another log."""

    def __init__(self, place: Place, options: dict[str, str], columns: pa.Schema) -> None:
        super().__init__(place, options, columns)
        self._most = _number(options, "maxrowsperbatch", 0)
        self._cap: int | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query starts."""
        extent = look(self._place)
        start = offset_option(self._options.get("startingoffset", "earliest"), "startingOffset", extent)
        extent.check(start, "")
        return {"next": start, "log_id": extent.log_id}

    def getDefaultReadLimit(self) -> ReadLimit:
        """The option ``maxRowsPerBatch``; offsets without a record count too."""
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of this run; later records are left to the next one."""
        self._cap = look(self._place).end

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next batch."""
        end = look(self._place).end if self._cap is None else self._cap
        if isinstance(limit, ReadMaxRows):
            end = min(end, start["next"] + limit.max_rows)
        return {"next": max(end, start["next"]), "log_id": start["log_id"]}

    def reportLatestOffset(self) -> dict[str, Any]:
        """The end of the log, for a query's progress report."""
        extent = look(self._place)
        return {"next": extent.end, "log_id": extent.log_id}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Range]:
        """The offset ranges of one batch, which are the same when it is repeated after a crash."""
        extent = look(self._place)
        extent.check(start["next"], start["log_id"])
        extent.check(end["next"], end["log_id"])
        return self._split(extent, start["next"], end["next"])

    def commit(self, end: dict[str, Any]) -> None:
        """The batch is done; each of its tasks has checked its range after its last row."""
        extent = look(self._place)
        extent.check(max(end["next"], extent.first), end["log_id"])  # trimming records already read is no loss


def _even(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """The range in ``parts`` ranges of about the same size, without empty ones."""
    count = max(stop - start, 0)
    edges = [start + count * number // parts for number in range(parts + 1)]
    return [(low, high) for low, high in pairwise(edges) if low < high]


def _columns(place: Place, schema: StructType) -> pa.Schema:
    """The columns to read. Raises ``ConfigError`` for an unknown column."""
    known = {field.name for field in record_columns(place.topic, decode=True, payload=True)}
    if unknown := sorted(set(schema.names) - known):
        raise ConfigError(f"topic {place.topic} has no column {unknown[0]!r}; it has {', '.join(sorted(known))}")
    return to_arrow_schema(schema)


def _number(options: dict[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"the option {name} is {text!r}; write a number")
    return int(text)


def _flag(options: dict[str, str], name: str, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise ConfigError(f"the option {name} is {text!r}; write true or false")
    return text == "true"
