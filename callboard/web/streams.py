"""An answer that goes on: server-sent events, to a reader that may be slow, or leave."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from callboard.logger import get_logger

QUIET_S = 15.0
"""After this long without anything new a comment is sent, so that proxies keep the connection."""

SEND_S = 20.0
"""A reader that takes nothing for this long is disconnected; a browser connects again."""

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


class Stream(Response):
    """An answer that goes on until the reader leaves, takes nothing for ``SEND_S``, or ``pieces`` raises
    ``StopAsyncIteration``.
    """

    media_type = "text/event-stream"

    def __init__(
        self, pieces: Callable[[], Awaitable[str]], begun: Callable[[], None], ended: Callable[[], None]
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._pieces, self._begun, self._ended = pieces, begun, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces as they come; to HEAD, only the headers."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            return await send({"type": "http.response.body", "body": b""})
        self._begun()
        try:
            await self._serve(receive, send)
        finally:
            self._ended()

    async def _serve(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending = asyncio.ensure_future(self._send_all(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
            if isinstance(ended, Exception) and not isinstance(ended, TimeoutError | OSError):
                reason = f"{type(ended).__name__}: {ended}"
                get_logger().error("request.failed", operation="stream", reason=reason, exc_info=ended)

    async def _send_all(self, send: Send) -> None:
        more = True
        while more:
            try:
                body = (await self._pieces()).encode()
            except StopAsyncIteration:
                body, more = b"", False
            async with asyncio.timeout(SEND_S):
                await send({"type": "http.response.body", "body": body, "more_body": more})


async def _left(receive: Receive) -> None:
    with suppress(ClientDisconnect):
        while (await receive())["type"] != "http.disconnect":
            pass
