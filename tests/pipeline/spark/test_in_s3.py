"""A bucket is listed, swept and archived into by many tasks, each of which does its share."""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from callboard.archive.reader import ArchiveReader
from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.backends.blob_stores.sharded import SHARDS
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.pipeline.archive import archiver
from callboard.pipeline.collect.stored_blobs import _lister, _remover
from callboard.pipeline.run import Run
from callboard.testing.servers.s3 import S3Server, moto_server

pytestmark = pytest.mark.s3
CONTENTS = [b"%d" % number for number in range(30)]
DIGESTS = {hashlib.sha256(content).digest(): content for content in CONTENTS}
FUTURE_NS = 2**62
STATUS = PackageStatusMessage(subscriber_instance="i", subscriber="s", publisher="p", offset=1, status=Status.IMPORTED)


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with moto_server() as server:
        server.create_bucket("tests")
        yield server


@pytest.fixture
def bucket(s3, monkeypatch) -> str:
    """The URL of a place in a bucket, which this process may use."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return s3.url("tests", "some")


def test_tasks_that_share_the_shards_see_each_blob_once_and_remove_only_what_they_should(bucket, tmp_path):
    (tmp_path / "callboard.toml").write_text(f'log = "sqlite:///./board.db"\nblobs = "{bucket}"\n')
    board = str(tmp_path / "callboard.toml")

    async def put() -> None:
        store = S3BlobStore(bucket)
        for key, content in DIGESTS.items():
            await store.put(key.hex(), [content])
        await store.put(next(iter(DIGESTS)).hex(), iter(()))  # which leaves a mark beside it
        await store.close()

    def listed() -> dict[bytes, int]:
        tasks = [pa.RecordBatch.from_pydict({"id": list(range(start, len(SHARDS), 3))}) for start in range(3)]
        rows = [row for task in tasks for batch in _lister(board)(iter([task])) for row in batch.to_pylist()]
        assert len({row["key"] for row in rows}) == len(rows)
        return {row["key"]: row["size"] for row in rows}

    asyncio.run(put())
    assert listed() == {key: len(content) for key, content in DIGESTS.items()}
    doomed = list(DIGESTS)[:10]
    batch = pa.RecordBatch.from_pydict({"key": doomed, "size": [len(DIGESTS[key]) for key in doomed]})
    assert [each.num_rows for each in _remover(board, 0)(iter([batch]))] == [0], "all were put since then"
    assert [each.num_rows for each in _remover(board, FUTURE_NS)(iter([batch]))] == [10]
    assert set(listed()) == set(DIGESTS) - set(doomed)


@pytest.mark.timeout(600)
def test_tasks_write_the_same_archive_to_a_bucket_as_one_process_to_a_folder(
    bucket, s3, spark, sqlite_log, tmp_path, monkeypatch
):
    for name, value in s3.environment.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)  # for workers; Java was started before
    monkeypatch.setattr(archiver, "SEGMENT_BYTES", 1500)
    sqlite_log.append("package")
    sqlite_log.append("status", *[STATUS] * 60)
    (tmp_path / "callboard.toml").write_text(f'log = "{sqlite_log.url}"\n')
    settings = BoardSettings(sqlite_log.url, "", tmp_path)
    run = Run("archive", spark, {"board": str(tmp_path / "callboard.toml")}, clock=lambda: 1)

    report, undecodable = asyncio.run(archiver.archive(run, settings, bucket, accept_hole=False, tip=None))
    assert report.error is None
    [status] = [topic for topic in report.topics if topic.rows]
    assert (status.rows, undecodable["callboard.status"]) == (60, 0)
    assert status.files > 3, "one task did it all"
    sqlite_log.append("status", STATUS)
    for place in (bucket, "folder"):  # one process continues what tasks have archived
        done = archiving.archive(settings, place, accept_hole=False, tip=None, on_progress=lambda *_: None)
        assert asyncio.run(done).error is None
    assert rows(bucket, tmp_path) == rows("folder", tmp_path)
    assert len(rows(bucket, tmp_path)) == 61


def rows(place: str, folder: Path) -> list[dict]:
    async def work() -> list[dict]:
        async with ArchiveReader(place, folder) as reader:
            return [row async for batch in reader.batches("callboard.status") for row in batch.to_pylist()]

    return asyncio.run(work())
