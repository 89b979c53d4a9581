"""If the server ignores conditional writes, the store detects and reports it, and still works."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.backends.blob_stores.s3.parts import PART_BYTES
from callboard.testing.servers.s3 import S3Server
from callboard.testing.servers.wire import Wire, wire

CONTENTS = [b"small", bytes(PART_BYTES + 1)]
CONDITION = b"\r\nIf-None-Match: *"


def without_condition(data: bytes) -> bytes:
    return data.replace(CONDITION, b"\r\nX-Not: *")


def far(server: S3Server, relay: Wire, bucket: str) -> S3BlobStore:
    return S3BlobStore(S3Server(f"http://127.0.0.1:{relay.port}").url(bucket, "blobs"))


def port_of(server: S3Server) -> int:
    return int(server.endpoint_url.rpartition(":")[2])


@pytest.mark.parametrize("content", CONTENTS, ids=["in one request", "in parts"])
def test_concurrent_puts_all_succeed_without_conditional_writes(
    content: bytes, moto: S3Server, new_bucket: Callable, tmp_path: Path
) -> None:
    async def body() -> None:
        digest = hashlib.sha256(content).hexdigest()
        async with wire(port_of(moto), alter=without_condition) as relay:
            stores = [far(moto, relay, bucket) for _ in range(3)]
            with capture_logs() as logs:
                assert any(await asyncio.gather(*(store.put(digest, [content]) for store in stores)))
                assert not await stores[0].put(digest, [content])
            told = [event["event"] for event in logs]  # by each put that did not find the blob there
            assert set(told) == {"conditional_writes.ignored"}
            assert len(told) <= len(stores)
            assert all(bucket in event["bucket"] for event in logs)
            assert [blob.digest async for blob in stores[0].list()] == [digest]
            file = await stores[0].fetch(digest, tmp_path)
            assert file.read_bytes() == content
            for store in stores:
                await store.close()

    bucket = new_bucket(moto)
    asyncio.run(body())


@pytest.mark.parametrize("content", CONTENTS, ids=["in one request", "in parts"])
def test_with_conditional_writes_only_one_of_the_concurrent_puts_creates_the_blob(
    content: bytes, s3: S3Server, new_bucket: Callable
) -> None:
    async def body() -> None:
        digest = hashlib.sha256(content).hexdigest()
        stores = [S3BlobStore(url) for _ in range(3)]
        with capture_logs() as logs:
            created = await asyncio.gather(*(store.put(digest, [content]) for store in stores))
        assert sorted(created) == [False, False, True]
        assert logs == []
        for store in stores:
            await store.close()

    url = s3.url(new_bucket(s3))
    asyncio.run(body())


def test_the_server_is_examined_once_and_by_another_process_with_one_write(
    moto: S3Server, new_bucket: Callable
) -> None:
    async def body() -> None:
        async with wire(port_of(moto)) as relay:
            for expected in (2, 1):
                relay.sent.clear()
                store = far(moto, relay, bucket)
                for content in (b"%d" % expected, b"%d again" % expected):
                    assert await store.put(hashlib.sha256(content).hexdigest(), [content])
                await store.close()
                assert b"".join(relay.sent).count(b"/.conditional-writes HTTP/1.1") == expected

    bucket = new_bucket(moto)
    asyncio.run(body())
