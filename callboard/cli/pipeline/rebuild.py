"""``callboard pipeline rebuild``: rebuilds every projection as tables in files, a database, and a lake."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.backends.address import shown
from callboard.cli.options import BoardOptions, Json
from callboard.cli.pipeline.jobs import CURRENT, Archive, Out, Partitions, run_job, show_report, source_options
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.pipeline.run import Report, Run

FOLLOW_S = 5.0
"""Pause before the log is checked again; a run takes as long."""


def rebuild(
    options: BoardOptions,
    out: Out,
    archive: Archive = "",
    postgres: Annotated[
        str, typer.Option("--postgres", metavar="VARIABLE", help="Also to the database with the URL in this variable.")
    ] = "",
    delta: Annotated[
        str, typer.Option("--delta", metavar="PLACE", help="Also write Delta tables: a folder, or s3://BUCKET/PREFIX.")
    ] = "",
    partitions: Partitions = 2,
    follow: Annotated[bool, typer.Option("--follow", help="Repeat whenever the log has grown, until Ctrl-C.")] = False,
    json: Json = False,
) -> None:
    """Rebuild every projection from the log: positions, queues, errors, latencies, failure rates."""
    publish = _publication(out.absolute() / CURRENT, postgres, delta)

    def work(run: "Run") -> "Report":
        from callboard.pipeline import jobs

        report = jobs.rebuild(run, out.absolute())
        publish(run, report)
        return report

    while True:
        report = run_job("rebuild", options, archive, partitions, work)
        show_report(report, json=json)
        seen = {name: read["stop"] for name, read in report.topics.items()}
        if not follow:
            return
        while _ends(options, archive, seen) == seen:
            time.sleep(FOLLOW_S)


def _publication(tables: Path, postgres: str, delta: str) -> "Callable[[Run, Report], None]":
    """The function that publishes the tables elsewhere too. Raises ``ConfigError`` now rather than minutes later."""
    url = os.environ.get(postgres, "")
    if postgres and not url:
        raise ConfigError(f"variable {shown(postgres)} is not set; set it to the URL of a database: postgresql://...")
    if delta:
        from callboard.pipeline.sinks import delta_tables

        place = delta_tables.DeltaPlace.of(delta, Path.cwd())
        place.check()

    def publish(run: "Run", report: "Report") -> None:
        from callboard.pipeline.sinks.reach import Reach

        reach = Reach(report.log_id, **{topic: read["stop"] for topic, read in report.topics.items()})
        if url:
            from callboard.pipeline.sinks import postgres_tables

            postgres_tables.publish(url, tables, reach, run.on_step)
        if delta:
            run.on_step("publishing Delta tables")
            delta_tables.publish(place, tables, reach)

    return publish


def _ends(options: BoardOptions, archive: str, topics: dict[str, int]) -> dict[str, int]:
    from callboard.pipeline.source.extent import look
    from callboard.pipeline.source.place import Place

    source = source_options(options, archive)
    return {topic: look(Place.of({**source, "topic": topic})).end for topic in topics}
