"""The jobs ``rebuild``, ``queue-at`` and ``audit``: thin runners around pure functions on tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from callboard.errors import ConfigError
from callboard.pipeline.audit.audit import below, deliveries, path_index
from callboard.pipeline.audit.page import audit_page
from callboard.pipeline.run import Output, Report, Run
from callboard.pipeline.tables.history import latencies, queue_sizes
from callboard.pipeline.tables.outcomes import error_queues, failure_rates, outcomes, real
from callboard.pipeline.tables.queues import entries, queue_states
from callboard.pipeline.tables.standings import standings
from callboard.pipeline.tables.topics import TopicTables

PAGE_PACKAGES = 1000
"""Packages in the report for people; the tables have them all."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in the log's history: below these offsets, or before this record time.

    A ``package`` offset alone means the moment when that package was appended: topics have no common order, so the
    other topics are cut by record time.
    """

    package: int | None = None
    status: int | None = None
    discovery: int | None = None
    time_ns: int | None = None


def rebuild(run: Run, folder: Path) -> Report:
    """Every projection, as Parquet tables below ``folder/current``."""
    with run.reading() as (topics, report):
        run.on_step("reading the log")
        discovery, status, package = (topics.kept(name) for name in ("discovery", "status", "package"))
        extent = topics.extent("package")
        log_id, status = extent.log_id, real(status, extent.end)
        standing, outcome = standings(discovery, status, extent).persist(), outcomes(status).persist()
        tables = {
            "standing": standing,
            "outcome": outcome,
            "error_queue": error_queues(outcome),
            "failure_rate": failure_rates(outcome, standing),
            "latency": latencies(package, discovery, status, log_id),
            "queue": queue_states(package, standing),
            "queue_size": queue_sizes(package, discovery, log_id),
        }
        output = Output(folder, report.begun_ns)
        for name, table in tables.items():
            run.on_step(f"writing {name}")
            output.write(name, table, report)
        standing.unpersist()
        outcome.unpersist()
    output.finish(report)
    return report


def queue_at(run: Run, moment: Moment, subscriber: str = "", limit: int = 20) -> tuple[list[Any], list[Any], Report]:
    """The queues at a moment; with a subscriber, also the first packages in its queue."""
    with run.reading() as (topics, report):
        run.on_step("reading the log")
        discovery, status, package = at(topics, moment)
        standing = standings(discovery, status, topics.extent("package"))
        if subscriber:
            standing = standing.where(sql.col("subscriber") == subscriber)
        standing = standing.persist()
        run.on_step("looking into the queues")
        queues = queue_states(package, standing).orderBy("subscriber", "queue").collect()
        inside = entries(package, standing).orderBy("offset").limit(limit).collect() if subscriber else []
        standing.unpersist()
    return queues, inside, report


def at(topics: TopicTables, moment: Moment) -> tuple[DataFrame, DataFrame, DataFrame]:
    """The tables of discovery, status and package at the moment. Raises ``ConfigError`` if there was nothing yet."""
    time_ns = moment.time_ns
    stops = {"discovery": moment.discovery, "status": moment.status, "package": moment.package}
    if time_ns is None and moment.package is not None and (moment.status is None or moment.discovery is None):
        last = topics.table("package", stop=moment.package).orderBy(sql.desc("offset")).select("time_ns").first()
        if last is None:
            raise ConfigError(f"there is no package below offset {moment.package}; choose a later one")
        time_ns = last["time_ns"] + 1
    tables = []
    for name, stop in stops.items():
        table = topics.kept(name, stop=stop)
        tables.append(table if stop is not None or time_ns is None else table.where(sql.col("time_ns") < time_ns))
    discovery, status, package = tables
    return discovery, status, package


def audit(run: Run, folder: Path, path: str) -> Report:
    """Write the index of all paths, who has the content at ``path``, and a page on it, below ``folder/current``."""
    with run.reading() as (topics, report):
        run.on_step("reading the log")
        discovery, status, package = (topics.kept(name) for name in ("discovery", "status", "package"))
        extent = topics.extent("package")
        log_id, status = extent.log_id, real(status, extent.end)
        standing, outcome = standings(discovery, status, extent), outcomes(status)
        output = Output(folder, report.begun_ns)
        run.on_step("writing path")
        output.write("path", path_index(package), report)
        found = run.spark.read.parquet(str(output.place / "path")).where(below(path)).persist()
        run.on_step("writing delivery")
        output.write("delivery", deliveries(found, standing, discovery, outcome, log_id), report)
        packages = found.groupBy("offset", "time_ns", "publisher", "user", "kind", "length").agg(
            sql.sort_array(sql.collect_set("path")).alias("paths")
        )
        shown = packages.orderBy(sql.desc("offset")).limit(PAGE_PACKAGES).collect()
        first = shown[-1]["offset"] if shown else 0
        delivered = run.spark.read.parquet(str(output.place / "delivery")).where(sql.col("offset") >= first)
        page = audit_page(path, shown, delivered.collect(), packages.count() - len(shown))
        (output.place / "report.html").write_text(page, encoding="utf-8")
        found.unpersist()
    output.finish(report)
    return report
