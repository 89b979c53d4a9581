"""The join by which ``callboard pipeline collect`` finds unused blobs, beside simpler ones and a dict of Python's.

Needs the extra ``spark`` and Java. ``--keys`` sets the size, by default 20 million; it is measured at every power of
ten from 10^5 up to it, and at itself. Six of ten keys are needed. Each measurement starts with Parquet files on disk
and ends with the number and bytes of the unused keys.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyarrow.dataset import dataset
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from report import Report, quick, rounds

from callboard.pipeline.collect.collect import KEYS_PER_TASK, unused
from callboard.pipeline.session import open_session

TASKS = 2
ROUNDS = 3
LARGE = 5_000_000
"""From this size on, one round is enough."""


def write(spark, folder: Path, count: int) -> None:
    ids = spark.range(0, count, 1, 8)
    keys = ids.selectExpr("id", "unhex(sha2(cast(id as string), 256)) as key")
    keys.selectExpr("key", "id % 1000 as size").write.parquet(str(folder / "stored"))
    keys.where("id % 10 < 6").select("key").write.parquet(str(folder / "needed"))


def by_key(stored: DataFrame, needed: DataFrame, tasks: int) -> DataFrame:
    left, right = stored.repartition(tasks, "key"), needed.repartition(tasks, "key")
    return left.join(right, "key", "left_anti")


def by_both(stored: DataFrame, needed: DataFrame, tasks: int) -> DataFrame:
    """By a hash as well, but comparing keys, too."""
    hashed = sql.xxhash64("key").alias("hash")
    left = stored.select("*", hashed).repartition(tasks, "hash", "key")
    return left.join(needed.select(hashed, "key").repartition(tasks, "hash", "key"), ["hash", "key"], "left_anti")


def in_spark(spark, folder: Path, count: int, join: Callable[[DataFrame, DataFrame, int], DataFrame]) -> None:
    stored, needed = (spark.read.parquet(str(folder / name)) for name in ("stored", "needed"))
    tasks = max(TASKS, -(-count // KEYS_PER_TASK))
    [(left, size)] = join(stored, needed, tasks).agg(sql.count("*"), sql.sum("size")).collect()
    check(count, left, size)


def in_python(folder: Path, count: int) -> None:
    unneeded: dict[bytes, int] = {}
    for batch in dataset(folder / "stored").to_batches():  # a whole column as objects would need as much memory again
        unneeded.update(zip(batch["key"].to_pylist(), batch["size"].to_pylist(), strict=True))
    for batch in dataset(folder / "needed").to_batches():
        for key in batch["key"].to_pylist():
            unneeded.pop(key, None)
    check(count, len(unneeded), sum(unneeded.values()))


def check(count: int, left: int, size: int) -> None:
    assert left == count * 4 // 10
    assert size == sum(number % 1000 for number in range(1000) if number % 10 >= 6) * (count // 1000)


def rate(count: int, work: Callable[[], None]) -> Callable[[], float]:
    """Keys a second."""

    def measured() -> float:
        begun = time.perf_counter()
        work()
        return count / (time.perf_counter() - begun)

    return measured


def measure(report: Report, spark, folder: Path, count: int) -> None:
    write(spark, folder, count)
    contestants = {
        "ours": rate(count, lambda: in_spark(spark, folder, count, unused)),
        "by key": rate(count, lambda: in_spark(spark, folder, count, by_key)),
        "by both": rate(count, lambda: in_spark(spark, folder, count, by_both)),
        "python": rate(count, lambda: in_python(folder, count)),
    }
    large = count >= LARGE
    figures = rounds(1 if large else ROUNDS, contestants, warm_up=not large)
    took = f"{count / sorted(figures['ours'])[len(figures['ours']) // 2]:.1f} s"
    question = f"unused ones of {count:,} blobs"
    peers = (("by key", "joined by key alone"), ("by both", "joined by hash and key"), ("python", "one process"))
    for name, peer in peers:
        report.row(question, figures["ours"], figures[name], unit="keys/s", peer_name=peer, note=took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000 if quick() else 20_000_000, help="a multiple of 1000")
    parser.add_argument("--quick", action="store_true", help="100 000 keys")
    said = parser.parse_args()
    report, sizes = Report("spark_collect"), []
    while (size := 100_000 * 10 ** len(sizes)) < said.keys:
        sizes.append(size)
    with tempfile.TemporaryDirectory() as name:
        spark = open_session("benchmark", {"spark.local.dir": name})
        for size in [*sizes, said.keys]:
            measure(report, spark, Path(name) / f"{size}", size)
            report.write()
        spark.stop()


if __name__ == "__main__":
    main()
