"""A bucket is listed and swept shard by shard, as a task of the job does it."""

import asyncio
import hashlib
import os

import pyarrow as pa
import pytest

from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.backends.sharded import SHARDS
from callboard.pipeline.stored_blobs import _lister, _remover
from callboard.testing.s3 import moto_server

pytestmark = pytest.mark.s3
CONTENTS = [b"%d" % number for number in range(30)]
DIGESTS = {hashlib.sha256(content).digest(): content for content in CONTENTS}
FUTURE_NS = 2**62


def test_tasks_that_share_the_shards_see_each_blob_once_and_remove_what_they_are_told(tmp_path, monkeypatch):
    with moto_server() as server:
        server.create_bucket("blobs")
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        url = server.url("blobs", "some")
        (tmp_path / "callboard.toml").write_text(f'log = "sqlite:///./board.db"\nblobs = "{url}"\n')
        board = str(tmp_path / "callboard.toml")

        async def put() -> None:
            store = S3BlobStore(url)
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
