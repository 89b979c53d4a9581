"""Sends a page again after each reading of the board, as server-sent events, to those who have it open.

Each reader gets the newest page when it is ready for one, never a backlog. Readers of the same page share one drawing.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from callboard.web.console.page import Page, Question
from callboard.web.console.watch import Snapshot, Watch

QUIET_S = 15.0
"""After this long without a new page a comment is sent, so that proxies keep the connection."""

SEND_S = 20.0
"""A reader that takes nothing for this long is let go; its browser connects again when it reads."""

READERS_MAX = 400
"""Pages open at once; others are told to try again later, and still show what they had."""

Draw = Callable[[Page, Question], Awaitable[tuple[int, str]]]
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Stream(Response):
    """An answer that goes on until the reader leaves, takes nothing for ``SEND_S``, or ``pieces`` ends."""

    media_type = "text/event-stream"

    def __init__(
        self, pieces: Callable[[], Awaitable[str]], begun: Callable[[], None], ended: Callable[[], None]
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._pieces, self._begun, self._ended = pieces, begun, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the pieces as they come."""
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
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        while True:
            body = (await self._pieces()).encode()
            async with asyncio.timeout(SEND_S):
                await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    with suppress(ClientDisconnect):
        while (await receive())["type"] != "http.disconnect":
            pass


def live_updates(
    watch: Watch, page: Page, question: Callable[[Request, Snapshot], Question], drawn: Draw, readers: set[object]
) -> Callable[[Request], Awaitable[Response]]:
    """The answers to those who have this page open; ``readers`` are all that are connected, to any page."""
    drawings: dict[object, tuple[int, asyncio.Future[str]]] = {}

    async def draw_once(request: Request, now: Snapshot) -> str:
        """The page as it is at this reading, from the first who asks."""
        asked = question(request, now)
        key = request.scope["path"], request.scope["query_string"], asked.acts
        number, drawing = drawings.get(key, (-1, None))
        if drawing is None or number != now.number:
            drawing = asyncio.ensure_future(_drawing(page, asked, drawn))
            for old in [its for its, (then, _) in drawings.items() if then != now.number]:
                del drawings[old]
            drawings[key] = now.number, drawing
        return await asyncio.shield(drawing)

    async def answer(request: Request) -> Response:
        if not page.is_live(request.query_params):
            return Response("this page is not kept up to date", 404)
        if len(readers) >= READERS_MAX:
            return Response("too many pages are open", 503, {"Retry-After": "60"})
        seen, last, me = -1, "", object()

        async def pieces() -> str:
            nonlocal seen, last
            now = await (watch.now() if seen < 0 else watch.after(seen, QUIET_S))
            if now.number == seen:
                return ": quiet\n\n"
            seen, before = now.number, last
            last = await draw_once(request, now)
            return last if last != before else ": the same\n\n"

        return Stream(pieces, lambda: readers.add(me), lambda: readers.discard(me))

    return answer


async def _drawing(page: Page, asked: Question, drawn: Draw) -> str:
    _, content = await drawn(page, asked)
    return f"event: page\ndata: {json.dumps(content)}\n\n"
