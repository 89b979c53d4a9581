"""Large content is uploaded in parts, and is stored as a whole or not at all."""

import asyncio
import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiobotocore.session import get_session
from structlog.testing import capture_logs

from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.backends.blob_stores.s3.parts import PART_BYTES
from callboard.backends.blob_stores.s3.upload import PARTS_AT_ONCE
from callboard.errors import PackageCorrupt
from callboard.testing.servers.s3 import S3Server
from callboard.testing.servers.wire import wire

MIB = 1 << 20
CHUNK = bytes(range(256)) * 4096


def content(mib: int) -> Iterator[bytes]:
    """Content of which no two parts are the same, in chunks of 1 MiB."""
    for number in range(mib):
        yield number.to_bytes(8, "big") + CHUNK[8:]


def digest_of(chunks: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()


async def ask(server: S3Server, operation: str, **parameters: Any) -> dict[str, Any]:
    async with get_session().create_client("s3", endpoint_url=server.endpoint_url) as client:
        return await getattr(client, operation)(**parameters)


async def left_in(server: S3Server, bucket: str) -> list[str]:
    """The keys of all objects and unfinished uploads except the marker."""
    objects = await ask(server, "list_objects_v2", Bucket=bucket)
    uploads = await ask(server, "list_multipart_uploads", Bucket=bucket)
    keys = [item["Key"] for item in (*objects.get("Contents", ()), *uploads.get("Uploads", ()))]
    return [key for key in keys if not key.endswith(".conditional-writes")]


@pytest.mark.parametrize("size", [PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 1])
def test_content_uploaded_in_parts_is_downloaded_unchanged(
    size: int, s3: S3Server, new_bucket: Callable, tmp_path: Path
) -> None:
    async def body() -> None:
        whole = b"".join(content(size // MIB + 1))[:size]
        digest, bucket = hashlib.sha256(whole).hexdigest(), name
        store = S3BlobStore(s3.url(bucket))
        try:
            assert await store.put(digest, [whole])
            assert await store.put(digest, [whole]) is False
            assert [(blob.digest, blob.size) async for blob in store.list()] == [(digest, size)]
            file = await store.fetch(digest, tmp_path)
            assert file.read_bytes() == whole
        finally:
            await store.close()
        head = await ask(s3, "head_object", Bucket=bucket, Key=f"{digest[:2]}/{digest[2:]}")
        assert ("-" in head["ETag"]) == (size > PART_BYTES)

    name = new_bucket(s3)
    asyncio.run(body())


def test_large_content_with_another_digest_leaves_no_object_and_no_parts(s3: S3Server, new_bucket: Callable) -> None:
    async def body() -> None:
        store = S3BlobStore(s3.url(bucket))
        try:
            with pytest.raises(PackageCorrupt, match="instead of"):
                await store.put("0" * 64, content(20))
        finally:
            await store.close()
        assert await left_in(s3, bucket) == []

    bucket = new_bucket(s3)
    asyncio.run(body())


def test_a_source_that_fails_midway_leaves_no_object_and_no_parts(moto: S3Server, new_bucket: Callable) -> None:
    gone = OSError("the source is gone")

    def broken() -> Iterator[bytes]:
        yield from content(20)
        raise gone

    async def body() -> None:
        store = S3BlobStore(moto.url(bucket))
        try:
            with pytest.raises(OSError, match="the source is gone") as raised:
                await store.put("0" * 64, broken())
            assert raised.value is gone
        finally:
            await store.close()
        assert await left_in(moto, bucket) == []

    bucket = new_bucket(moto)
    asyncio.run(body())


def test_a_cancelled_put_leaves_no_object_and_no_parts(moto: S3Server, new_bucket: Callable) -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        in_the_middle = asyncio.Event()

        def endless() -> Iterator[bytes]:
            yield from content(20)
            loop.call_soon_threadsafe(in_the_middle.set)
            while True:
                yield CHUNK

        store = S3BlobStore(moto.url(bucket))
        putting = asyncio.create_task(store.put("0" * 64, endless()))
        await in_the_middle.wait()
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting
        await store.close()
        assert await left_in(moto, bucket) == []

    bucket = new_bucket(moto)
    asyncio.run(body())


def test_parts_that_cannot_be_removed_are_reported(moto: S3Server, new_bucket: Callable) -> None:
    def abort_elsewhere(data: bytes) -> bytes:
        return data.replace(b"DELETE /test-", b"DELETE /nowhere-")

    async def body() -> None:
        async with wire(int(moto.endpoint_url.rpartition(":")[2]), alter=abort_elsewhere) as relay:
            store = S3BlobStore(S3Server(f"http://127.0.0.1:{relay.port}").url(bucket))
            with capture_logs() as logs, pytest.raises(PackageCorrupt):
                await store.put("0" * 64, content(20))
            await store.close()
        assert [event["event"] for event in logs] == ["upload.abandoned"]
        assert (logs[0]["key"], logs[0]["log_level"]) == (f"00/{'0' * 62}", "warning")
        assert await left_in(moto, bucket) == [f"00/{'0' * 62}"]

    bucket = new_bucket(moto)
    asyncio.run(body())


def test_uploads_and_downloads_need_little_memory(moto: S3Server, new_bucket: Callable, tmp_path: Path) -> None:
    async def body() -> None:
        digest = digest_of(content(64))
        store = S3BlobStore(moto.url(bucket))
        try:
            await store.exists(digest)
            tracemalloc.start()
            assert await store.put(digest, content(64))
            up = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            file = await store.fetch(digest, tmp_path)
            down = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await store.close()
        assert up < (PARTS_AT_ONCE + 2) * PART_BYTES
        assert down < 16 * MIB
        assert digest_of(iter([file.read_bytes()])) == digest

    bucket = new_bucket(moto)
    asyncio.run(body())
