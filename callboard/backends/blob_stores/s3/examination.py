"""The checks of ``callboard doctor`` for a bucket: that it answers, its permissions, and the clock."""

from email.utils import parsedate_to_datetime
from typing import Any

from callboard.backends.blob_stores.s3.conditions import EXISTS, IF_ABSENT, MARKER, NOTE, UNKNOWN
from callboard.backends.blob_stores.s3.connection import Connection
from callboard.backends.blob_stores.s3.download import MISSING
from callboard.backends.blob_stores.s3.failure import Declined
from callboard.backends.examination import Clock, Finding, advice, clock_finding, ok

_DENIED = ("AccessDenied", "AllAccessDisabled", "403")


async def examine(s3: Connection, clock: Clock) -> list[Finding]:
    """Check the bucket, which is known to answer. Leaves nothing new in it."""
    before_ns = clock()
    answer = await s3.call("list_objects_v2", Prefix=s3.bucket.key(""), MaxKeys=1)
    headers: dict[str, str] = answer["ResponseMetadata"]["HTTPHeaders"]
    found = [ok(f"blob store {s3.bucket} answers: {headers.get('server', 'a server without a name')}")]
    if "date" in headers:
        server_ns = int(parsedate_to_datetime(headers["date"]).timestamp()) * 10**9
        found.append(clock_finding("the blob store", server_ns, before_ns, clock(), precision_s=1.0))
    return [*found, *await _writing(s3)]


async def _writing(s3: Connection) -> list[Finding]:
    """Whether this user may put blobs, and whether the server honours conditional creation.

    Leaves no trace: it writes the marker conditionally if the marker exists, else starts an upload and aborts it.
    """
    key = s3.bucket.key(MARKER)
    try:
        await s3.call("head_object", *MISSING, Key=key)
    except Declined:
        return [await _upload(s3, key)]
    try:
        await s3.call("put_object", *EXISTS, *UNKNOWN, *_DENIED, Key=key, Body=NOTE, **IF_ABSENT)
    except Declined as declined:
        if declined.code in EXISTS:
            return [ok("this user may put blobs, and the server creates an object only if it is absent")]
        if declined.code in _DENIED:
            return [_may_only_read()]
    return [
        advice(
            "the server ignores conditional writes: publishers that put the same content at once may each write it",
            "nothing is lost by that; a server that honours If-None-Match saves the traffic",
        )
    ]


async def _upload(s3: Connection, key: str) -> Finding:
    try:
        upload: dict[str, Any] = await s3.call("create_multipart_upload", *_DENIED, Key=key)
    except Declined:
        return _may_only_read()
    await s3.call("abort_multipart_upload", Key=key, UploadId=upload["UploadId"])
    return ok("this user may put blobs; whether the server honours conditional writes is asked with the first one")


def _may_only_read() -> Finding:
    return advice(
        "this user may not put blobs, which is enough for subscribers",
        "allow s3:PutObject and s3:AbortMultipartUpload on the objects where something is published",
    )
