"""A data source that reads nothing: the cost of handing rows to Spark, which every Python source pays.

It yields prepared batches from memory-mapped files.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from callboard.pipeline.source.columns import RAW
from callboard.pipeline.source.place import Place
from callboard.pipeline.source.ranges import log_range


@dataclass(frozen=True)
class Part(InputPartition):
    """A file with batches."""

    path: str


class HandOver(DataSource):
    """See the module."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "handover"

    def schema(self) -> StructType:
        """The columns of the files."""
        return from_arrow_schema(RAW)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A table of all files."""
        return Reader(self.options["folder"], to_arrow_schema(schema).names)


class Reader(DataSourceReader):
    """Yields the batches of the files."""

    def __init__(self, folder: str, columns: list[str]) -> None:
        self._folder, self._columns = folder, columns

    def partitions(self) -> list[Part]:
        """One task per file."""
        return [Part(str(path)) for path in sorted(Path(self._folder).iterdir())]

    def read(self, partition: Part) -> Iterator[pa.RecordBatch]:
        """The batches of a file."""
        with pa.memory_map(partition.path) as mapped, pa.ipc.open_file(mapped) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number).select(self._columns)


def prepare(spark: SparkSession, folder: Path, place: Place, count: int, parts: int) -> None:
    """Write the batches that our own source would make of the package topic into the folder, one file per task."""
    folder.mkdir()
    edges = [1 + count * number // parts for number in range(parts + 1)]
    for low, high in pairwise(edges):
        with pa.ipc.new_file(folder / f"{low:012}", RAW) as file:
            for batch in log_range(place, place.topic_name(), "", low, high, RAW):
                file.write_batch(batch)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know this folder
    spark.dataSource.register(HandOver)
