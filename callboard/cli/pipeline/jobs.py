"""``callboard pipeline queue-at`` and ``audit``: Spark jobs on the whole log, and the frame of all jobs."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from callboard.backends.address import shown
from callboard.cli.options import BoardOptions, Json, Limit
from callboard.cli.terminal.output import show, show_json, show_table
from callboard.door.moments import moment_ns
from callboard.errors import ConfigError
from callboard.units import age, count, size

if TYPE_CHECKING:
    from callboard.pipeline.run import Report, Run

R = TypeVar("R")

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the tables; replaced as a whole.")]
Archive = Annotated[
    str, typer.Option("--archive", metavar="PLACE", help="Read this archive, then the log from its end on.")
]
Partitions = Annotated[int, typer.Option(min=1, max=64, help="Parallel tasks that read a topic.")]

CURRENT = "current"
"""The link to the newest complete tables, in the folder of a job."""


def queue_at(
    options: BoardOptions,
    offset: Annotated[int | None, typer.Option(min=0, help="Below this offset of the package topic.")] = None,
    status: Annotated[int | None, typer.Option(min=0, help="Below this offset of the status topic.")] = None,
    discovery: Annotated[int | None, typer.Option(min=0, help="Below this offset of the discovery topic.")] = None,
    when: Annotated[str, typer.Option("--time", metavar="TIME", help="Such as 2h, 3d or 2026-01-31T12:00.")] = "",
    subscriber: Annotated[str, typer.Option(metavar="NAME", help="This one only, with its packages.")] = "",
    limit: Limit = 20,
    archive: Archive = "",
    partitions: Partitions = 2,
    json: Json = False,
) -> None:
    """Show the queues as they were at an offset or a time; by default, as they are now."""
    time_ns = moment_ns(when, time.time_ns()) if when else None

    def work(run: "Run") -> tuple[list[Any], list[Any], "Report"]:
        from callboard.pipeline.jobs import Moment, queue_at

        return queue_at(run, Moment(offset, status, discovery, time_ns), subscriber, limit)

    queues, inside, report = run_job("queue-at", options, archive, partitions, work)
    rows, packages = [row.asDict() for row in queues], [row.asDict() for row in inside]
    if json:
        show_json({"queues": rows, "packages": packages, "report": report.to_data()})
        return
    now_ns = time.time_ns()
    show_table(
        ("SUBSCRIBER", "STATE", "<POSITION>", "QUEUE", "<PACKAGES>", "<SIZE>", "OLDEST"),
        (
            (
                row["subscriber"], row["state"].lower(), str(row["position"]), row["queue"] or "all", str(row["size"]),
                size(row["length"]), age((now_ns - row["oldest_ns"]) / 1e9) if row["size"] else "",
            )
            for row in rows
        ),
    )  # fmt: skip
    for package in packages:
        show(f"{package['offset']} {package['publisher']}: {package['kind']} {' '.join(package['paths'] or ())}")


def audit(
    options: BoardOptions,
    out: Out,
    path: Annotated[str, typer.Argument(help="This path and below.")] = "/",
    archive: Archive = "",
    partitions: Partitions = 2,
    json: Json = False,
) -> None:
    """Report who shipped a path and when, and since when each subscriber has it: as tables and HTML."""

    def work(run: "Run") -> "Report":
        from callboard.pipeline import jobs

        return jobs.audit(run, out.absolute(), path)

    show_report(run_job("audit", options, archive, partitions, work), json=json)
    if not json:
        show(f"see {out / CURRENT / 'report.html'}")


def run_job(job: str, options: BoardOptions, archive: str, partitions: int, work: "Callable[[Run], R]") -> R:
    """Start Spark, do the work, and show progress on a terminal."""
    source = source_options(options, archive)
    from callboard.cli.terminal.screen import progress
    from callboard.pipeline.failure import explained
    from callboard.pipeline.run import Run
    from callboard.pipeline.session import open_session

    with progress("", counted=False) as on_step, explained():
        on_step("starting Spark")
        spark = open_session(f"callboard {job}")
        return work(Run(job, spark, source, time.time_ns, partitions, on_step))


def source_options(options: BoardOptions, archive: str) -> dict[str, str]:
    """The options of the data source: the place of the configuration, but none of its content."""
    loaded = options.load()
    if options.log is not None:
        os.environ["CALLBOARD_LOG"] = loaded.config.log  # workers inherit it; Spark would show an option in plans
    if options.blobs is not None:
        os.environ["CALLBOARD_BLOBS"] = loaded.config.blobs  # likewise
    if loaded.config.log.startswith("sqlite:") and not Path(loaded.config.log.removeprefix("sqlite:///")).exists():
        raise ConfigError(f"there is no log at {shown(loaded.config.log)}; publish something first")
    if archive:
        from callboard.archive.stores import open_archive

        open_archive(archive, Path.cwd())  # raises for one with a password, before Spark shows options in plans
    source = {"board": str(loaded.file.absolute()) if loaded.file else ""}
    return source | ({"archive": archive if "://" in archive else str(Path(archive).absolute())} if archive else {})


def show_report(report: "Report", *, json: bool) -> None:
    """Print what a job read and wrote."""
    if json:
        show_json(report.to_data())
        return
    for name, read in report.topics.items():
        problems = f", {count(read['problems'], 'record')} that cannot be decoded" if read["problems"] else ""
        show(f"{name}: {count(read['records'], 'record')} of [{read['start']}, {read['stop']}){problems}")
    for name, table in report.tables.items():
        show(f"{name}: {count(table.rows, 'row')}, {size(table.length)}")
    show(f"{report.job} took {report.seconds:.1f} s")
