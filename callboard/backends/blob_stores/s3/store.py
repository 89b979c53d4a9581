"""Blobs as the objects of an S3 bucket."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from callboard.backends.blob_store import BlobInfo, log_replaced
from callboard.backends.blob_stores.s3 import examination
from callboard.backends.blob_stores.s3.bucket import RENEWED, Bucket
from callboard.backends.blob_stores.s3.conditions import Conditions
from callboard.backends.blob_stores.s3.connection import Connection
from callboard.backends.blob_stores.s3.download import MISSING, download
from callboard.backends.blob_stores.s3.failure import Declined
from callboard.backends.blob_stores.s3.upload import DIGEST, upload
from callboard.backends.examination import Clock, Finding

PUTS_AT_ONCE = 4
"""Concurrent puts; each holds up to ``PARTS_AT_ONCE`` parts in memory."""


class S3BlobStore:
    """Blob ``abcdef...`` is the object ``PREFIX/ab/cdef...``; its ``stored_ns`` is by the server's clock, in seconds.

    Credentials come from the usual AWS configuration: environment, profile or instance role.

    Args:
        url: ``s3://BUCKET/PREFIX?endpoint_url=URL&region=REGION``, all but the bucket optional.

    Raises:
        ConfigError: the URL is invalid. Nothing is opened yet.
    """

    def __init__(self, url: str) -> None:
        self._bucket = Bucket.of(url)
        self._connection = Connection(self._bucket)
        self._conditions = Conditions()
        self._puts = asyncio.Semaphore(PUTS_AT_ONCE)

    async def put(self, digest: str, chunks: Iterable[bytes], size: int | None = None) -> bool:
        """See ``BlobStore.put``. An object written by another program is damaged: its metadata lack the digest.

        If the server ignores conditional writes, several concurrent puts may each report that they created the blob.
        All of them write the same content.
        """
        key = self._bucket.blob_key(digest)
        async with self._connection as s3, self._puts:
            found = await _found(s3, key)
            if found is not None and _is_damaged(found, digest, size):
                await upload(s3, digest, chunks, {})
                log_replaced(str(self._bucket), digest)
                return True
            if found is not None and await _renew(s3, key):
                return False
            return await upload(s3, digest, chunks, await self._conditions.if_absent(s3))

    async def fetch(self, digest: str, spool: Path) -> Path:
        """See ``BlobStore.fetch``; always a download."""
        self._bucket.blob_key(digest)
        async with self._connection as s3:
            return await download(s3, digest, spool)

    async def exists(self, digest: str) -> bool:
        """See ``BlobStore.exists``."""
        key = self._bucket.blob_key(digest)
        async with self._connection as s3:
            return await _is_there(s3, key)

    async def delete(self, digest: str) -> bool:
        """See ``BlobStore.delete``."""
        key = self._bucket.blob_key(digest)
        async with self._connection as s3:
            there = await _is_there(s3, key)
            for each in (key + RENEWED, key):
                await s3.call("delete_object", Key=each)
            return there

    async def delete_unless_renewed(self, digest: str, since_ns: int) -> bool:
        """See ``BlobStore.delete_unless_renewed``.

        S3 has no conditional delete that depends on another object. A renewal can therefore be missed between the last
        check of its marker and the removal, which takes one request.
        """
        key = self._bucket.blob_key(digest)
        async with self._connection as s3:
            stored = [await _stored_ns(s3, each) for each in (key, key + RENEWED)]
            if stored[0] is None or max(each or 0 for each in stored) >= since_ns:
                return False
            for each in (key, key + RENEWED):
                await s3.call("delete_object", Key=each)
            return True

    async def list(self) -> AsyncIterator[BlobInfo]:
        """See ``BlobStore.list``."""
        async for blob in self._blobs(""):
            yield blob

    async def list_shard(self, shard: str) -> AsyncIterator[BlobInfo]:
        """See ``Sharded``."""
        async for blob in self._blobs(f"{shard}/"):
            yield blob

    async def examine(self, clock: Clock) -> Sequence[Finding]:
        """See ``Examinable``."""
        async with self._connection as s3:
            return await examination.examine(s3, clock)

    async def close(self) -> None:
        """See ``BlobStore.close``."""
        await self._connection.close()

    async def _blobs(self, folder: str) -> AsyncIterator[BlobInfo]:
        blob: BlobInfo | None = None
        async for item in self._connection.objects(folder):
            if digest := self._bucket.digest(item["Key"].removesuffix(RENEWED)):
                stored_ns = _nanoseconds(item["LastModified"])
                if not item["Key"].endswith(RENEWED):
                    if blob is not None:
                        yield blob
                    blob = BlobInfo(digest, item["Size"], stored_ns)
                elif blob is not None and blob.digest == digest:
                    blob = blob._replace(stored_ns=max(blob.stored_ns, stored_ns))
        if blob is not None:
            yield blob


async def _is_there(s3: Connection, key: str) -> bool:
    return await _stored_ns(s3, key) is not None


async def _stored_ns(s3: Connection, key: str) -> int | None:
    """When the object was written; None if it does not exist."""
    found = await _found(s3, key)
    return _nanoseconds(found["LastModified"]) if found is not None else None


async def _found(s3: Connection, key: str) -> dict[str, Any] | None:
    try:
        return await s3.call("head_object", *MISSING, Key=key)
    except Declined:
        return None


def _is_damaged(found: dict[str, Any], digest: str, size: int | None) -> bool:
    return size not in (None, found["ContentLength"]) or found["Metadata"].get(DIGEST) != digest


def _nanoseconds(time: datetime) -> int:
    return int(time.timestamp()) * 10**9


async def _renew(s3: Connection, key: str) -> bool:
    """Renew ``stored_ns`` of a blob; False if the blob is gone."""
    await s3.call("put_object", Key=key + RENEWED, Body=b"")
    return await _is_there(s3, key)  # a collector that missed the renewal may have deleted it
