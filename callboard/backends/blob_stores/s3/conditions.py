"""Whether the server supports creating an object only if it is absent: some ignore the condition, and overwrite."""

import asyncio

from callboard.backends.blob_stores.s3.connection import Connection
from callboard.backends.blob_stores.s3.failure import Declined
from callboard.logger import get_logger

EXISTS = ("PreconditionFailed", "412")
"""The error codes of a conditional write to an existing object."""

UNKNOWN = ("NotImplemented", "501")
"""The error codes of servers that refuse unknown requests."""

IF_ABSENT = {"IfNoneMatch": "*"}
MARKER = ".conditional-writes"
NOTE = b"This object tells whether the server honours If-None-Match. It may be removed; it comes back.\n"


class Conditions:
    """Tests the server once, with the first blob that is put."""

    def __init__(self) -> None:
        self._parameters: dict[str, str] | None = None
        self._asking = asyncio.Lock()

    async def if_absent(self, s3: Connection) -> dict[str, str]:
        """The parameters that make a write create only; empty if the server would ignore them."""
        async with self._asking:
            if self._parameters is None:
                honoured = await declines_to_overwrite(s3)
                self._parameters = IF_ABSENT if honoured else {}
                if not honoured:
                    get_logger(bucket=str(s3.bucket)).warning(
                        "conditional_writes.ignored",
                        effect="blobs put at the same time are written more than once, with the same content",
                    )
            return self._parameters


async def declines_to_overwrite(s3: Connection) -> bool:
    """Write one object twice: the second write must be declined. The object stays, so later one write is enough."""
    for _ in range(2):
        try:
            await s3.call("put_object", *EXISTS, *UNKNOWN, Key=s3.bucket.key(MARKER), Body=NOTE, **IF_ABSENT)
        except Declined as declined:
            return declined.code in EXISTS
    return False
