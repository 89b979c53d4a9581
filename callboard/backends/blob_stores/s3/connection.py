"""The client of a store: opened with the first request, shared by all, closed when no request uses it any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Self

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from callboard.backends.blob_stores.s3.bucket import Bucket
from callboard.backends.blob_stores.s3.failure import explained

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 60.0
"""How long the server may send nothing."""

ATTEMPTS = 4
"""Attempts of each request, in all; between them botocore waits for up to 1, 2 and 4 seconds."""

CONNECTIONS_MAX = 32
"""Requests in progress at once; further ones wait."""

PAGE_OBJECTS = 1000
"""Objects listed with one request; the limit of S3."""

_CONFIG = AioConfig(
    connect_timeout=CONNECT_TIMEOUT_S,
    read_timeout=READ_TIMEOUT_S,
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    max_pool_connections=CONNECTIONS_MAX,
    # Every request is signed with the sha-256 of its body, and readers verify the digest of their downloads. Many
    # servers other than AWS do not support further checksums.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


class Connection:
    """Use it in ``async with``, which keeps the client open. The first use checks that the bucket answers."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self._client: Any = None
        self._resources = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._users = 0
        self._unused = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._users += 1
        try:
            async with self._opening:
                if self._client is None:
                    await self._open()
        except BaseException:
            self._leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def call(self, operation: str, *expected: str, **parameters: Any) -> dict[str, Any]:
        """Send a request about the bucket, and return the answer.

        Args:
            operation: the name of the client's method.
            expected: the error codes for which ``Declined`` is raised.
            **parameters: of the operation, except the bucket.

        Raises:
            BlobUnavailable: for any other error.
        """
        return await self._request(self._client, operation, *expected, **parameters)

    async def objects(self, folder: str, after: str = "") -> AsyncIterator[dict[str, Any]]:
        """The objects below the prefix whose names begin with ``folder``, in key order, after the key ``after``.

        Objects may be deleted meanwhile.
        """
        start = {"StartAfter": after} if after else {}
        while True:
            async with self as s3:
                page = await s3.call("list_objects_v2", Prefix=self.bucket.key(folder), MaxKeys=PAGE_OBJECTS, **start)
            for item in page.get("Contents", ()):
                yield item
                start = {"StartAfter": item["Key"]}
            if not page["IsTruncated"]:
                return

    async def close(self) -> None:
        """Wait until the client is unused, and close it. Idempotent; a later use opens a new one."""
        while self._users:
            self._unused.clear()
            await self._unused.wait()
        self._client = None
        resources, self._resources = self._resources, AsyncExitStack()
        await resources.aclose()

    async def _open(self) -> None:
        with explained(self.bucket):
            making = get_session().create_client(
                "s3",
                endpoint_url=self.bucket.endpoint_url or None,
                region_name=self.bucket.region or None,
                config=_CONFIG,
            )
        async with AsyncExitStack() as resources:
            with explained(self.bucket):
                client = await resources.enter_async_context(making)
            # A HEAD request has no body that could tell a missing bucket from a missing object.
            await self._request(client, "list_objects_v2", Prefix=self.bucket.key(""), MaxKeys=1)
            self._resources = resources.pop_all()
            self._client = client

    async def _request(self, client: Any, operation: str, *expected: str, **parameters: Any) -> dict[str, Any]:
        with explained(self.bucket, *expected):
            answer: dict[str, Any] = await getattr(client, operation)(Bucket=self.bucket.name, **parameters)
            return answer

    def _leave(self) -> None:
        self._users -= 1
        if not self._users:
            self._unused.set()
