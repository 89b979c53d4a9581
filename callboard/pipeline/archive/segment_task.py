"""A task of an archive job: reads a range of a topic, and writes its segments to the archive.

Records do not pass through Spark, which only assigns the ranges and restarts tasks that died.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from callboard.archive.files.chain import hole
from callboard.archive.files.manifest import Segment
from callboard.archive.files.segment import SCHEMA, rows_of
from callboard.archive.files.segmentation import log_rows, segments
from callboard.archive.stores import open_archive
from callboard.pipeline.source.columns import RAW
from callboard.pipeline.source.decoding import decoded
from callboard.pipeline.source.place import Place

Ranges = tuple[tuple[int, int], ...]
"""Offsets from the first number up to, but not including, the second."""

RESULT = "start bigint, files string, undecodable bigint"
"""The columns of a task's result; ``files`` is JSON."""

_RESULT = pa.schema([("start", pa.int64()), ("files", pa.string()), ("undecodable", pa.int64())])
_PROBLEM = pa.schema([("problem", pa.string())])
_LOGGED = pa.schema([SCHEMA.field(name) for name in ("offset", "time_ns", "key_sha256", "headers", "payload")])
"""The columns that PostgreSQL has of a record; of a key it keeps only the digest."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Ranges that are read in parallel, each by one task.

    ``name`` is the topic on the log. ``unique`` is the run's hexadecimal id: with a segment's digest it forms the name
    of the file. So a repeated task writes no second file, nor reuses one of a former run, which may be vacuumed.
    """

    place: Place
    archive: str
    name: str
    unique: str
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Ranged:
    """The segments of the range from ``start`` on; undecodable records are included as they are."""

    start: int
    files: tuple[Segment, ...]
    undecodable: int


def tasks_of(wave: Wave) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The workers' function; each row's ``id`` is the number of a range."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                done = asyncio.run(_write(wave, *wave.ranges[number]))
                files = json.dumps([asdict(file) for file in done.files])
                row = {"start": done.start, "files": files, "undecodable": done.undecodable}
                yield pa.RecordBatch.from_pylist([row], schema=_RESULT)

    return work


def ranges_of(rows: Sequence[tuple[int, str, int]]) -> list[Ranged]:
    """The results of a wave's tasks, by ascending offset."""
    return [
        Ranged(start, tuple(Segment(**file) for file in json.loads(files)), undecodable)
        for start, files, undecodable in sorted(rows)
    ]


async def _write(wave: Wave, start: int, stop: int) -> Ranged:
    undecodable = 0

    async def counted() -> AsyncIterator[pa.RecordBatch]:
        nonlocal undecodable
        async for batch in _rows(wave, start, stop):
            read = decoded(batch.select(RAW.names), wave.place.topic, _PROBLEM)
            undecodable += read.num_rows - read.column("problem").null_count
            yield batch

    store = open_archive(wave.archive, Path.cwd())
    made = segments(store, wave.name, counted(), lambda digest: wave.unique + digest[:48])
    try:
        async with aclosing(made):
            files = [segment async for segment, _ in made]
    finally:
        await store.close()
    return Ranged(start, tuple(files), undecodable)


async def _rows(wave: Wave, start: int, stop: int) -> AsyncIterator[pa.RecordBatch]:
    log = wave.place.open_log()
    try:
        if not wave.place.url().startswith("postgresql:"):
            async for batch in log_rows(log, wave.name, start, stop):
                yield batch
            return
        for batch in _copied(wave, start, stop):
            yield batch
        first = (await log.bounds(wave.name)).first
        if first > start:  # records trimmed meanwhile may not have been read
            raise hole(wave.name, start, first)
    finally:
        await log.close()


def _copied(wave: Wave, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """Batches from PostgreSQL, without a Python object for each record."""
    from callboard.pipeline.source.postgres_range import copied

    for batch in copied(wave.place.url(), wave.name, start, stop, _LOGGED):
        columns = {"key": pa.nulls(batch.num_rows, pa.string())}
        columns |= {name: batch.column(name) for name in batch.schema.names}
        yield rows_of([columns[name] for name in SCHEMA.names if name in columns])
