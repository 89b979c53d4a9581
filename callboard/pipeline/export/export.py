"""The job ``export``: ships a tree that is too large for one package, built by many tasks and published by one process.

The driver cuts the tree into parts and numbers them. Executors build them, put blobs into the store, and
describe the packages in a table. Then the driver alone appends these to the log, in order. Each step is on disk before
the next begins, so the next run resumes where a killed one stopped. Every package has the request id
``JOB/SEQUENCE``, so it is on the log once even if it is appended again.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.registry import open_log
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.content.ship import Shipment, build
from callboard.errors import LogReplaced, RequestRefused
from callboard.messages.distribution.topic_messages import Kind
from callboard.pipeline.collect.stored_blobs import board_settings, opened_blobs
from callboard.pipeline.export.folder import ROUND_PARCELS, STAGED, ExportFolder, Job, Progress
from callboard.pipeline.export.parts import PARCEL_ENTRIES, cut
from callboard.pipeline.export.publisher import ExportPublisher
from callboard.pipeline.run import Run

if TYPE_CHECKING:
    Batches: TypeAlias = Iterator[pa.RecordBatch]

INLINE_BYTES = 64 << 10
"""A package up to this size is stored in the table of parts, and the driver copies it into its record."""

BUILD_TASKS = 4
"""Build tasks for each task that reads a topic: parts differ in size."""


@dataclass(frozen=True, slots=True)
class Exporting:
    """An export to do: the tree at ``path`` of the folder ``source``, in the name of ``publisher``.

    ``replace`` first deletes what subscribers have at the path. ``name`` is given to a new job; ``user`` is on
    whose behalf. ``most`` is the number of entries per package, ``round_parcels`` the packages built at a time.
    """

    source: str
    path: str
    publisher: str
    name: str
    user: str
    replace: bool = False
    most: int = PARCEL_ENTRIES
    round_parcels: int = ROUND_PARCELS


@dataclass(frozen=True, slots=True)
class Exported:
    """The result: ``packages`` are on the log, below the offset ``end``; this run appended ``appended`` of them."""

    job: str
    packages: int
    appended: int
    end: int
    seconds: float


def export(run: Run, folder: Path, wanted: Exporting) -> Exported:
    """Export the tree, or resume the export that an earlier run began in this folder.

    Raises:
        RequestRefused: the tree cannot be read, changed meanwhile, or is not that of the job in this folder.
        LogReplaced: the log is not the one on which the job began.
        LogUnavailable: the log cannot be written now; run it again.
    """
    begun_ns, staging = run.clock(), ExportFolder(folder, wanted.round_parcels)
    settings = board_settings(run.options.get("board", ""))
    with staging.locked(), opened_blobs(run.options.get("board", "")) as (loop, blobs):
        log = open_log(settings.log, settings.base)
        try:
            topic = settings.topics.package
            job = loop.run(_job(staging, log, topic, wanted))
            if not staging.plan_file.exists():
                run.on_step("planning")
                entries = FolderSource(Path(job.source), settings.patterns).entries(job.path, deep=True)
                staging.plan(cut(entries, wanted.most), replace=job.path if job.replace else "")
            _build(run, staging, job, settings.patterns)
            run.on_step("publishing")
            progress, appended = loop.run(_publish(run, staging, job, log, blobs, topic, wanted.user))
        finally:
            loop.run(log.close())
    return Exported(job.job, staging.planned(), appended, progress.end, (run.clock() - begun_ns) / 1e9)


async def _job(staging: ExportFolder, log: Log, topic: str, wanted: Exporting) -> Job:
    """The job in this folder, or a new one."""
    known, log_id = staging.job(), await log.identity(topic)
    if known is None:
        known = Job(
            job=wanted.name, source=wanted.source, path=wanted.path, publisher=wanted.publisher,
            replace=wanted.replace, log_id=log_id, end=(await log.bounds(topic)).end,
        )  # fmt: skip
        staging.begin(known)
    asked = (wanted.source, wanted.path, wanted.publisher, wanted.replace)
    if (known.source, known.path, known.publisher, known.replace) != asked:
        raise RequestRefused(
            f"{staging.folder} has an export of {known.path} of {known.source} by {known.publisher!r}, "
            f"{'with' if known.replace else 'without'} --replace; repeat that, or name another folder",
            code="mismatch",
        )
    if known.log_id != log_id:
        raise LogReplaced(f"the log is not the one of the export in {staging.folder}; name another folder")
    return known


def _build(run: Run, staging: ExportFolder, job: Job, patterns: PathPatterns) -> None:
    """Build the rounds that are missing."""
    rounds = staging.rounds()
    for number, sequences in enumerate(rounds):
        if staging.staged(number).exists():
            continue
        run.on_step(f"building {len(rounds) - number} of {len(rounds)} rounds")
        plan = run.spark.read.parquet(str(staging.plan_file))
        mine = plan.where(f"sequence >= {sequences.start} and sequence < {sequences.stop}")
        tasks = min(len(sequences), BUILD_TASKS * run.partitions)
        builder = _builder(run.options.get("board", ""), job, patterns, run.clock())
        with staging.staging(number) as draft:
            mine.repartition(tasks).mapInArrow(builder, from_arrow_schema(STAGED)).write.parquet(str(draft))


def _builder(board: str, job: Job, patterns: PathPatterns, now_ns: int) -> "Callable[[Batches], Batches]":
    def rows(batches: "Batches") -> "Batches":
        source = FolderSource(Path(job.source), patterns)
        with opened_blobs(board) as (runner, blobs):
            for batch in batches:
                for row in batch.to_pylist():
                    shipment = runner.run(_built(source, blobs, row))
                    built = {field.name: getattr(shipment, field.name) for field in fields(Shipment)}
                    known = {"job": job.job, "sequence": row["sequence"], "kind": row["kind"], "built_ns": now_ns}
                    yield pa.RecordBatch.from_pylist([known | built], schema=STAGED)

    return rows


async def _built(source: FolderSource, blobs: BlobStore, row: dict[str, Any]) -> Shipment:
    built = await build(
        Kind[row["kind"]],
        source,
        row["paths"],
        row["deep_paths"],
        blobs=blobs,
        spool=Path(tempfile.gettempdir()),
        inline_max=INLINE_BYTES,
    )
    if built.deep_paths == ("/",) and built.entries <= 1:  # as where nothing is mounted yet
        raise RequestRefused(
            "there is nothing in this folder; to remove what subscribers have, delete its paths", code="empty"
        )
    return built


async def _publish(
    run: Run, staging: ExportFolder, job: Job, log: Log, blobs: BlobStore, topic: str, user: str
) -> tuple[Progress, int]:
    """Append what is not on the log yet; returns the progress, and the number of packages appended."""
    publisher = ExportPublisher(log, blobs, topic, job, user, run.clock)
    progress = await publisher.catch_up(staging.progress(job))
    appended = 0
    for number, sequences in enumerate(staging.rounds()):
        if sequences.stop <= progress.next:
            continue
        parts = await asyncio.to_thread(staging.parts, number)
        left = [part for part in parts if part["sequence"] >= progress.next]
        async for progress in publisher.publish(left):
            staging.advance(progress)
        appended += len(left)
    return progress, appended
