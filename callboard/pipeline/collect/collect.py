"""The job ``collect``: finds unused blobs by an anti-join, and removes them after a grace period.

It takes two runs. The first lists the store, reads every record of the log and of its archive, and quarantines the
blobs that none of them refers to. The second, at least the grace period later, reads the records that came since, and
removes the blobs that are still unused. As in ``content.collection``, the order makes a lock needless: a publisher
puts a blob shortly before it refers to it, which renews the blob's time, and blobs renewed since the first run are not
removed.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.storagelevel import StorageLevel

from callboard.board.connect.opening import blobs_place
from callboard.errors import RequestRefused
from callboard.pipeline.collect.marked_blobs import CANDIDATES, SWEPT, Quarantine, load, save
from callboard.pipeline.collect.references import Span, references, spans
from callboard.pipeline.collect.stored_blobs import board_settings, removed, stored_blobs
from callboard.pipeline.document import write_document
from callboard.pipeline.run import Output, Report, Run

KEYS_PER_TASK = 1_000_000
"""Keys in one task of a shuffle: as many as it can sort in 200 MB of memory."""


@dataclass(frozen=True, slots=True)
class Swept:
    """The outcome of a quarantine: ``removed`` candidates, not counting those that an earlier try removed.

    ``needed`` candidates are referred to by now; the rest were put again, or are gone.
    """

    candidates: int
    needed: int
    removed: int
    removed_bytes: int


def mark(run: Run, folder: Path, grace_s: float) -> tuple[Quarantine, Report]:
    """Quarantine the unused blobs, below ``folder/current``; the blob store is not changed.

    Raises:
        Undecodable: a record cannot be read.
        ArchiveHole: a part of the archive is missing.
        BlobUnavailable: the store cannot be listed.
    """
    report = Report(run.job, run.clock())
    since_ns = report.begun_ns - int(grace_s * 1e9)
    board = run.options.get("board", "")
    output = Output(folder, report.begun_ns)
    run.on_step("listing blobs")
    stored = stored_blobs(run.spark, board, run.partitions).persist(StorageLevel.DISK_ONLY)
    try:
        blobs, length = stored.agg(sql.count("*"), sql.coalesce(sql.sum("size"), sql.lit(0))).collect()[0]
        run.on_step("reading the log")
        read = spans(run.options)
        with references(run.spark, run.options, read, run.partitions) as (needed, counts):
            run.on_step("writing candidates")
            old = stored.where(sql.col("stored_ns") < since_ns)
            output.write(CANDIDATES, unused(old, needed, _tasks(run, blobs)), report)
    finally:
        stored.unpersist()
    candidates = run.spark.read.parquet(str(output.place / CANDIDATES))
    [(candidate_bytes,)] = candidates.agg(sql.coalesce(sql.sum("size"), sql.lit(0))).collect()
    quarantine = Quarantine(
        time_ns=report.begun_ns,
        since_ns=since_ns,
        store=blobs_place(board_settings(board)),
        archive=run.options.get("archive", ""),
        blobs=blobs,
        length=length,
        candidates=report.tables[CANDIDATES].rows,
        candidate_bytes=candidate_bytes,
        spans=read,
    )
    save(quarantine, output.place)
    _complete(run, report, read, counts)
    output.finish(report)
    return quarantine, report


def sweep(run: Run, folder: Path, grace_s: float, max_share: float) -> tuple[Swept, Report]:
    """Remove the blobs quarantined for at least ``grace_s`` seconds and still unused.

    Repeat it if it is interrupted. Raises as ``mark``, and ``RequestRefused`` if there is no such quarantine, or if it
    has more than ``max_share`` of all blobs.
    """
    report = Report(run.job, run.clock())
    quarantine, place = load(folder)
    board = run.options.get("board", "")
    _check(quarantine, run, board, grace_s, max_share)
    candidates = run.spark.read.parquet(str(place / CANDIDATES))
    run.on_step("reading what came since")
    read = spans(run.options, quarantine.spans)
    with references(run.spark, run.options, read, run.partitions) as (needed, counts):
        doomed = unused(candidates, needed, _tasks(run, quarantine.candidates)).persist(StorageLevel.DISK_ONLY)
        try:
            left = doomed.count()
            run.on_step("removing blobs")
            gone = removed(doomed, board, quarantine.since_ns)
            number, length = gone.agg(sql.count("*"), sql.coalesce(sql.sum("size"), sql.lit(0))).collect()[0]
        finally:
            doomed.unpersist()
    swept = Swept(quarantine.candidates, quarantine.candidates - left, number, length)
    write_document(place / SWEPT, asdict(swept))
    _complete(run, report, read, counts)
    return swept, report


def unused(stored: DataFrame, needed: DataFrame, tasks: int) -> DataFrame:
    """The rows of ``stored`` whose ``key`` is not in ``needed``.

    Joined by a hash of the key, which takes half the time. Different hashes mean different keys, so no needed key is
    among them; if two keys have the same hash, an unused one may be kept.
    """
    hashed = sql.xxhash64("key").alias("hash")
    left, right = stored.select("*", hashed), needed.select(hashed)
    return left.repartition(tasks, "hash").join(right.repartition(tasks, "hash"), "hash", "left_anti").drop("hash")


def _tasks(run: Run, keys: int) -> int:
    return max(run.partitions, -(-keys // KEYS_PER_TASK))


def _check(quarantine: Quarantine, run: Run, board: str, grace_s: float, max_share: float) -> None:
    due_ns = quarantine.time_ns + int(grace_s * 1e9)
    if run.clock() < due_ns:
        due = datetime.fromtimestamp(due_ns / 1e9, UTC).isoformat(" ", "seconds")
        raise RequestRefused(f"these blobs are under quarantine until {due}; remove them after that", code="not_due")
    if quarantine.store != blobs_place(board_settings(board)):
        raise RequestRefused(
            f"these blobs are from {quarantine.store}; pass --blobs {quarantine.store}, or start over", code="mismatch"
        )
    if quarantine.archive != run.options.get("archive", ""):
        raise RequestRefused(
            f"the archive was {quarantine.archive or 'none'} when these blobs were put under quarantine; name the "
            "same one, or start over",
            code="mismatch",
        )
    if quarantine.share > max_share:
        raise RequestRefused(
            f"this would remove {quarantine.candidates} of {quarantine.blobs} blobs, more than {max_share:.0%}; if "
            "that is intended, raise --max-share",
            code="unconfirmed",
        )


def _complete(run: Run, report: Report, read: dict[str, Span], counts: dict[str, int]) -> None:
    report.log_id = read["package"].log_id
    report.topics = {
        topic: {"start": span.start, "stop": span.stop, "records": counts[topic], "problems": 0}
        for topic, span in read.items()
    }
    report.seconds = (run.clock() - report.begun_ns) / 1e9
