"""The frame of every job: options, a report of what was read and written, and an atomically replaced output."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from callboard.errors import ConfigError
from callboard.pipeline.tables.topics import TopicTables

CURRENT = "current"
"""The link to the newest complete output."""


@dataclass(slots=True)
class Written:
    """A written table: its rows, files and bytes."""

    rows: int
    files: int
    length: int


@dataclass
class Report:
    """What a run did; ``topics`` has what was read, by topic; ``log_id`` is the identity of the package topic."""

    job: str
    begun_ns: int
    seconds: float = 0.0
    log_id: str = ""
    topics: dict[str, dict[str, int]] = field(default_factory=dict)
    tables: dict[str, Written] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Run:
    """One run of a job.

    Args:
        job: its name.
        spark: the session.
        options: of the data source.
        clock: nanoseconds since the epoch.
        partitions: parallel tasks that read a topic.
        on_step: called with what is being done, for people.
    """

    job: str
    spark: SparkSession
    options: Mapping[str, str]
    clock: Callable[[], int]
    partitions: int = 2
    on_step: Callable[[str], None] = lambda _: None

    @contextmanager
    def reading(self) -> Iterator[tuple[TopicTables, Report]]:
        """The topics, and a report that is completed at the end of the block."""
        topics, report = TopicTables(self.spark, self.options, self.partitions), Report(self.job, self.clock())
        try:
            yield topics, report
        finally:
            topics.release()
        report.log_id = topics.extent("package").log_id
        report.topics = {name: asdict(read) for name, read in topics.read.items()}
        report.seconds = (self.clock() - report.begun_ns) / 1e9


class Output:
    """A folder of Parquet tables. Readers see the old ones until all new ones are complete.

    ``FOLDER/current`` is a link to the folder of the last complete run. The next run removes what a killed run left.
    """

    def __init__(self, folder: Path, begun_ns: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / CURRENT
        if link.exists() and not link.is_symlink():
            raise ConfigError(f"{link} is not a link that a job made; choose another folder")
        self._folder, self.place = folder, folder / f"run-{begun_ns:020d}"
        self.place.mkdir()

    def write(self, name: str, table: DataFrame, report: Report) -> None:
        """Write one table."""
        place = self.place / name
        table.write.parquet(str(place))
        files = [file for file in place.iterdir() if file.suffix == ".parquet"]
        rows = table.sparkSession.read.parquet(str(place)).count()
        report.tables[name] = Written(rows, len(files), sum(file.stat().st_size for file in files))

    def finish(self, report: Report) -> None:
        """Replace the old tables by the new ones, with the report beside them."""
        (self.place / "report.json").write_text(json.dumps(report.to_data(), indent=2) + "\n", encoding="utf-8")
        draft = self._folder / f"{CURRENT}.new"
        draft.unlink(missing_ok=True)
        draft.symlink_to(self.place.name)
        os.replace(draft, self._folder / CURRENT)  # noqa: PTH105 - replaces an existing link atomically
        for old in self._folder.glob("run-" + "[0-9]" * 20):
            if old.name < self.place.name:
                shutil.rmtree(old)
