"""Uploads a blob, in one request or in parts. It becomes visible as a whole, after its digest was checked."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from callboard.backends.blob_stores.s3.conditions import EXISTS
from callboard.backends.blob_stores.s3.connection import Connection
from callboard.backends.blob_stores.s3.failure import Declined
from callboard.backends.blob_stores.s3.parts import PART_BYTES, Parts
from callboard.errors import BlobError, RequestRefused
from callboard.logger import get_logger

DIGEST = "sha256"
"""The metadata key of the digest, which is checked before the blob is created. Overwriting the blob loses it."""

PARTS_AT_ONCE = 4
"""Parts of one blob in memory, being sent."""

PARTS_MAX = 10_000
"""The limit of S3."""


async def upload(s3: Connection, digest: str, chunks: Iterable[bytes], if_absent: dict[str, str]) -> bool:
    """Create the blob; False if another writer was faster.

    Raises:
        PackageCorrupt: the chunks do not have the digest.
        RequestRefused: the content exceeds the limit of S3.
        BlobUnavailable: the request failed.
        Exception: any error of the chunks.
    """
    key = s3.bucket.blob_key(digest)
    parts = Parts(chunks)
    small = await asyncio.to_thread(parts.is_one)
    try:
        if small:
            parts.check(digest)
            await s3.call("put_object", *EXISTS, Key=key, Body=parts.next(), Metadata={DIGEST: digest}, **if_absent)
        else:
            async with _multipart(s3, key, digest) as upload_id:
                sent = await _send(s3, key, upload_id, parts)
                parts.check(digest)
                await s3.call("complete_multipart_upload", *EXISTS, Key=key, UploadId=upload_id,
                              MultipartUpload={"Parts": sent}, **if_absent)  # fmt: skip
    except Declined:
        # Or this call created it but lost the answer, and botocore's second attempt is declined. Either way it exists.
        return False
    return True


@asynccontextmanager
async def _multipart(s3: Connection, key: str, digest: str) -> AsyncIterator[str]:
    """The id of an upload, aborted if the block raises: otherwise its parts would stay, invisible, and cost money."""
    upload_id = (await s3.call("create_multipart_upload", Key=key, Metadata={DIGEST: digest}))["UploadId"]
    try:
        yield upload_id
    except BaseException:
        try:
            await s3.call("abort_multipart_upload", "NoSuchUpload", Key=key, UploadId=upload_id)
        except Declined:
            pass  # completed, by a request whose answer was lost
        except BlobError as error:
            get_logger(bucket=str(s3.bucket)).warning("upload.abandoned", key=key, upload=upload_id, reason=str(error))
        raise


async def _send(s3: Connection, key: str, upload_id: str, parts: Parts) -> list[dict[str, Any]]:
    """Send all parts, read in order and several at once; returns the list that completes the upload."""
    sent: dict[int, str] = {}
    turn = asyncio.Lock()
    numbers = count(1)

    async def send_some() -> None:
        while True:
            async with turn:
                part = await asyncio.to_thread(parts.next)
                number = next(numbers)
            if part is None:
                return
            if number > PARTS_MAX:
                raise RequestRefused(
                    f"the content of {key} is larger than {PARTS_MAX * PART_BYTES >> 30} GiB; split it into more files",
                    code="too_large",
                )
            answer = await s3.call("upload_part", Key=key, UploadId=upload_id, PartNumber=number, Body=part)
            sent[number] = answer["ETag"]
            del part  # before the next one is read

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(PARTS_AT_ONCE):
                group.create_task(send_some())
    except ExceptionGroup as failures:  # the others were cancelled because of the first
        raise failures.exceptions[0] from None
    return [{"PartNumber": number, "ETag": sent[number]} for number in sorted(sent)]
