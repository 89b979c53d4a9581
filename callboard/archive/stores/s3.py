"""An archive in an S3 bucket."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from callboard.archive.store import Stored
from callboard.backends.blob_stores.s3.bucket import Bucket
from callboard.backends.blob_stores.s3.conditions import EXISTS, IF_ABSENT, declines_to_overwrite
from callboard.backends.blob_stores.s3.connection import Connection
from callboard.backends.blob_stores.s3.download import MISSING
from callboard.backends.blob_stores.s3.failure import BROKEN_STREAM, Declined
from callboard.errors import BlobMissing, BlobUnavailable, ConfigError

CHUNK_BYTES = 1 << 20
"""The chunk size of a download in memory."""


class S3ArchiveStore:
    """Each file of the archive is an object below the prefix of ``s3://BUCKET/PREFIX?endpoint_url=URL&region=REGION``.

    The server must honour ``If-None-Match: *``, or two concurrent archivers would overwrite each other's files: this is
    checked before the first write.
    """

    def __init__(self, url: str) -> None:
        self._bucket = Bucket.of(url)
        self._connection = Connection(self._bucket)
        self._asking = asyncio.Lock()
        self._declines = False

    @property
    def place(self) -> str:
        """See ``ArchiveStore``."""
        return str(self._bucket)

    async def put_new(self, name: str, content: Path | bytes) -> bool:
        """See ``ArchiveStore``."""
        async with self._connection as s3:
            await self._check(s3)
            if isinstance(content, bytes):
                return await _put(s3, self._bucket.key(name), content)
            with content.open("rb") as file:
                return await _put(s3, self._bucket.key(name), file)

    async def get(self, name: str) -> bytes:
        """See ``ArchiveStore``."""
        async with self._connection as s3:
            try:
                answer = await s3.call("get_object", *MISSING, Key=self._bucket.key(name))
                async with answer["Body"] as body:
                    content: bytes = await body.read()
                    return content
            except Declined:
                raise self._missing(name) from None
            except BROKEN_STREAM as error:
                raise self._broken(name, error) from error

    async def fetch(self, name: str, spool: Path) -> Path:
        """See ``ArchiveStore``; always a download."""
        async with self._connection as s3:
            try:
                answer = await s3.call("get_object", *MISSING, Key=self._bucket.key(name))
            except Declined:
                raise self._missing(name) from None
            with tempfile.NamedTemporaryFile(dir=spool, suffix=".parquet", delete=False) as file:
                try:
                    async with answer["Body"] as body:
                        while chunk := await body.read(CHUNK_BYTES):
                            file.write(chunk)
                except BROKEN_STREAM as error:
                    raise self._broken(name, error) from error
                return Path(file.name)

    async def list(self, prefix: str, start: str = "") -> AsyncIterator[Stored]:
        """See ``ArchiveStore``."""
        after = self._bucket.key(start)[:-1] if start > prefix else ""
        async for item in self._connection.objects(prefix, after):
            name = item["Key"].removeprefix(self._bucket.key(""))
            if name >= start:  # what comes after the start without its last letter may come before the start
                yield Stored(name, item["Size"], int(item["LastModified"].timestamp()) * 10**9)

    async def delete(self, name: str) -> None:
        """See ``ArchiveStore``."""
        async with self._connection as s3:
            await s3.call("delete_object", Key=self._bucket.key(name))

    async def close(self) -> None:
        """See ``ArchiveStore``."""
        await self._connection.close()

    async def _check(self, s3: Connection) -> None:
        async with self._asking:
            self._declines = self._declines or await declines_to_overwrite(s3)
        if not self._declines:
            raise ConfigError(
                f"{self._bucket} ignores If-None-Match, so concurrent archivers would overwrite each other's files; "
                "archive to a folder, or to a server that honours it"
            )

    def _missing(self, name: str) -> BlobMissing:
        return BlobMissing(f"{name} is missing in {self._bucket}; restore the archive from a copy")

    def _broken(self, name: str, error: Exception) -> BlobUnavailable:
        return BlobUnavailable(f"{self._bucket}: the download of {name} broke off: {error}; try again")


async def _put(s3: Connection, key: str, body: Any) -> bool:
    try:
        await s3.call("put_object", *EXISTS, Key=key, Body=body, **IF_ABSENT)
    except Declined:
        return False
    return True
