"""What a blob store in S3 reports to the doctor, without leaving anything in the bucket."""

import asyncio
import hashlib
import time
from collections.abc import Callable

import pytest

from callboard.backends.blob_stores.s3 import S3BlobStore, examination
from callboard.backends.examination import Examinable, Finding, Level
from callboard.errors import BlobUnavailable
from callboard.testing.servers.s3 import S3Server

HOUR_NS = 3600 * 10**9
CONTENT = b"x" * 100


async def told(url: str, clock: Callable[[], int] = time.time_ns, put: bool = False) -> list[Finding]:
    store = S3BlobStore(url)
    try:
        assert isinstance(store, Examinable)
        if put:
            await store.put(hashlib.sha256(CONTENT).hexdigest(), [CONTENT])
        return list(await store.examine(clock))
    finally:
        await store.close()


async def keys(url: str) -> list[str]:
    store = S3BlobStore(url)
    try:
        return [item["Key"] async for item in store._connection.objects("")]
    finally:
        await store.close()


def test_a_healthy_bucket_has_no_problem_and_stays_empty(s3: S3Server, new_bucket: Callable) -> None:
    url = s3.url(new_bucket(s3), "board")
    assert {finding.level for finding in asyncio.run(told(url))} == {Level.OK}
    assert asyncio.run(keys(url)) == []


def test_the_first_blob_shows_whether_conditional_writes_are_honoured(moto: S3Server, new_bucket: Callable) -> None:
    found = asyncio.run(told(moto.url(new_bucket(moto), "board"), put=True))
    assert any("creates an object only if it is absent" in finding.what for finding in found)


def test_a_server_that_ignores_conditional_writes_is_reported(
    moto: S3Server, new_bucket: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "IF_ABSENT", {})  # as if the server ignored it
    found = asyncio.run(told(moto.url(new_bucket(moto), "board"), put=True))
    (ignored,) = (finding for finding in found if finding.level is not Level.OK)
    assert ignored.level is Level.ADVICE
    assert "ignores conditional writes" in ignored.what


def test_a_wrong_clock_is_reported(moto: S3Server, new_bucket: Callable) -> None:
    found = asyncio.run(told(moto.url(new_bucket(moto)), lambda: time.time_ns() - HOUR_NS))
    (wrong,) = (finding for finding in found if finding.level is Level.PROBLEM)
    assert "s behind that of the blob store" in wrong.what


def test_a_missing_bucket_is_named(s3: S3Server) -> None:
    with pytest.raises(BlobUnavailable, match="create the bucket"):
        asyncio.run(told(s3.url("no-such-bucket")))
