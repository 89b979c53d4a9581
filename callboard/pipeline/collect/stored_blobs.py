"""The blob store for executors: a table of its blobs, and the removal of the blobs in a table."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from callboard.backends.blob_store import BlobInfo, BlobStore
from callboard.backends.blob_stores.sharded import SHARDS, Sharded
from callboard.board.connect.opening import open_board_blobs
from callboard.board.connect.settings import BoardSettings
from callboard.config import load

if TYPE_CHECKING:
    Batches: TypeAlias = Iterator[pa.RecordBatch]

LISTED = pa.schema([("key", pa.binary()), ("size", pa.int64()), ("stored_ns", pa.int64())])
LISTED_COLUMNS = "key binary, size bigint, stored_ns bigint"

LIST_TASKS = 4
"""Tasks that list the store, for each that reads a topic: shards differ in size, and listing mostly waits."""

BATCH_BLOBS = 10_000
"""Rows of a batch."""

REMOVALS_AT_ONCE = 16
"""Concurrent removals of one task. A folder does four at a time; a bucket has no limit."""


def board_settings(board: str) -> BoardSettings:
    """The settings of the board that a job names by the path of a callboard.toml, or nothing; variables apply too."""
    loaded = load(Path(board) if board else None, os.environ)
    config = loaded.config
    return BoardSettings(
        config.log, config.blobs, loaded.base, config.prefix, config.publisher.exclude, include=config.publisher.include
    )


@contextmanager
def opened_blobs(board: str) -> Iterator[tuple[asyncio.Runner, BlobStore]]:
    """The board's blob store, open, and a runner to use it with."""
    with asyncio.Runner() as runner:
        store = open_board_blobs(board_settings(board))
        try:
            yield runner, store
        finally:
            runner.run(store.close())


def stored_blobs(spark: SparkSession, board: str, partitions: int) -> DataFrame:
    """All blobs in the store: ``key``, the 32 bytes of the digest; ``size``; ``stored_ns``.

    Many tasks list a sharded store, one task any other. Raises ``BlobUnavailable`` in a task.
    """
    shards = len(SHARDS) if isinstance(open_board_blobs(board_settings(board)), Sharded) else 1
    numbers = spark.range(0, shards, 1, min(shards, LIST_TASKS * partitions))
    return numbers.mapInArrow(_lister(board), LISTED_COLUMNS)


def _lister(board: str) -> "Callable[[Batches], Batches]":
    def rows(batches: "Batches") -> "Batches":
        with opened_blobs(board) as (runner, store):
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    blobs = store.list_shard(SHARDS[number]) if isinstance(store, Sharded) else store.list()
                    while page := runner.run(_page(blobs)):
                        yield _table(page)

    return rows


async def _page(blobs: AsyncIterator[BlobInfo]) -> list[BlobInfo]:
    page: list[BlobInfo] = []
    async for blob in blobs:
        page.append(blob)
        if len(page) == BATCH_BLOBS:
            break
    return page


def _table(page: Sequence[BlobInfo]) -> pa.RecordBatch:
    keys, sizes, times = zip(*page, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(map(bytes.fromhex, keys), pa.binary()), pa.array(sizes, pa.int64()), pa.array(times, pa.int64())],
        schema=LISTED,
    )


def removed(blobs: DataFrame, board: str, since_ns: int) -> DataFrame:
    """Remove these blobs, except those put again since; returns ``size`` of those removed. Lazy: it runs when read.

    A retried task finds the blobs it removed before gone, and does not count them again.
    """
    return blobs.select("key", "size").mapInArrow(_remover(board, since_ns), "size bigint")


def _remover(board: str, since_ns: int) -> "Callable[[Batches], Batches]":
    def rows(batches: "Batches") -> "Batches":
        with opened_blobs(board) as (runner, store):
            for batch in batches:
                gone = runner.run(_remove(store, batch.column("key").to_pylist(), since_ns))
                sizes = batch.column("size").filter(pa.array(gone, pa.bool_()))
                yield pa.RecordBatch.from_arrays([sizes], names=["size"])

    return rows


async def _remove(store: BlobStore, keys: Sequence[bytes], since_ns: int) -> list[bool]:
    turns = asyncio.Semaphore(REMOVALS_AT_ONCE)

    async def remove(key: bytes) -> bool:
        async with turns:
            return await store.delete_unless_renewed(key.hex(), since_ns)

    return await asyncio.gather(*map(remove, keys))
