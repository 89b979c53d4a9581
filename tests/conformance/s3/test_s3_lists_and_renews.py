"""A list covers all pages, and says when a blob was last put; other objects are left alone."""

import asyncio
import hashlib
import time
from collections.abc import Callable

import pytest
from aiobotocore.session import get_session

from callboard.backends.blob_store import BlobInfo
from callboard.backends.blob_stores.s3 import S3BlobStore, connection
from callboard.testing.servers.s3 import S3Server

CONTENTS = [b"%d" % number for number in range(8)]
DEADLINE_S = 60.0


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def renewed(blobs: S3BlobStore, content: bytes, stored_ns: int) -> BlobInfo:
    """Put the content until its time is later: the server's clock counts seconds."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        assert await blobs.put(digest_of(content), [content]) is False
        found = {blob.digest: blob async for blob in blobs.list()}[digest_of(content)]
        if found.stored_ns > stored_ns:
            return found
    raise AssertionError("putting a blob again does not renew its time")


@pytest.mark.parametrize("page", [1, 2, 3, 1000])
def test_a_list_is_complete_wherever_its_pages_end(
    page: int, moto: S3Server, new_bucket: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PAGE_OBJECTS", page)

    async def body() -> None:
        blobs = S3BlobStore(url)
        for content in CONTENTS:
            await blobs.put(digest_of(content), [content])
        for content in CONTENTS[::2]:
            await blobs.put(digest_of(content), [content])
        assert [blob.digest async for blob in blobs.list()] == sorted(map(digest_of, CONTENTS))
        await blobs.close()

    url = moto.url(new_bucket(moto), "a/b c")
    asyncio.run(body())


def test_a_repeated_put_renews_the_time_of_a_blob(s3: S3Server, new_bucket: Callable) -> None:
    async def body() -> None:
        blobs = S3BlobStore(url)
        for content in CONTENTS[:2]:
            await blobs.put(digest_of(content), [content])
        before = {blob.digest: blob async for blob in blobs.list()}
        one, other = map(digest_of, CONTENTS[:2])
        found = await renewed(blobs, CONTENTS[0], before[one].stored_ns)
        assert found.size == len(CONTENTS[0])
        assert {blob.digest: blob async for blob in blobs.list()}[other] == before[other]
        await blobs.close()

    url = s3.url(new_bucket(s3))
    asyncio.run(body())


def test_the_time_of_a_blob_is_from_the_clock_of_the_server(moto: S3Server, new_bucket: Callable) -> None:
    async def body() -> None:
        blobs = S3BlobStore(url)
        early = time.time_ns()
        await blobs.put(digest_of(b"content"), [b"content"])
        late = time.time_ns()
        (blob,) = [blob async for blob in blobs.list()]
        assert early - 10**9 <= blob.stored_ns <= late
        await blobs.close()

    url = moto.url(new_bucket(moto))
    asyncio.run(body())


def test_a_deleted_blob_leaves_nothing_behind(moto: S3Server, new_bucket: Callable) -> None:
    async def body() -> None:
        blobs = S3BlobStore(moto.url(bucket, "blobs"))
        for _ in range(2):
            await blobs.put(digest_of(b"content"), [b"content"])
        assert await blobs.delete(digest_of(b"content"))
        await blobs.close()
        async with get_session().create_client("s3", endpoint_url=moto.endpoint_url) as client:
            left = await client.list_objects_v2(Bucket=bucket)
        assert [item["Key"] for item in left["Contents"]] == ["blobs/.conditional-writes"]

    bucket = new_bucket(moto)
    asyncio.run(body())


def test_other_objects_are_ignored(moto: S3Server, new_bucket: Callable) -> None:
    digest = digest_of(b"content")
    strangers = ["readme", "blobs", "blobs/readme", f"blobs/{digest}", f"blobs/{digest[:2]}/{digest[2:]}-old",
                 f"blobs/{digest[:2]}/{digest[2:]}.renewed.renewed", f"other/{digest[:2]}/{digest[2:]}",
                 f"blobs/{'0' * 2}/{'0' * 62}.renewed"]  # fmt: skip

    async def body() -> None:
        async with get_session().create_client("s3", endpoint_url=moto.endpoint_url) as client:
            for key in strangers:
                await client.put_object(Bucket=bucket, Key=key, Body=b"something else")
        blobs = S3BlobStore(moto.url(bucket, "blobs"))
        assert [blob async for blob in blobs.list()] == []
        assert await blobs.put(digest, [b"content"])
        before = [blob async for blob in blobs.list()]
        assert [(blob.digest, blob.size) for blob in before] == [(digest, 7)]
        await renewed(blobs, b"content", before[0].stored_ns)
        await blobs.close()

    bucket = new_bucket(moto)
    asyncio.run(body())


def test_a_collector_keeps_blobs_renewed_since_it_listed_them(s3: S3Server, new_bucket: Callable) -> None:
    async def body() -> None:
        blobs = S3BlobStore(url)
        for content in CONTENTS[:2]:
            await blobs.put(digest_of(content), [content])
        one, other = map(digest_of, CONTENTS[:2])
        before = {blob.digest: blob.stored_ns async for blob in blobs.list()}
        young = await renewed(blobs, CONTENTS[0], max(before.values()))
        assert not await blobs.delete_unless_renewed(one, young.stored_ns)
        assert await blobs.delete_unless_renewed(other, young.stored_ns)
        assert not await blobs.delete_unless_renewed(other, young.stored_ns)
        assert [blob.digest async for blob in blobs.list()] == [one]
        assert await blobs.put(other, [CONTENTS[1]]) is True
        await blobs.close()

    url = s3.url(new_bucket(s3), "collected")
    asyncio.run(body())
