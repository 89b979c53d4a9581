"""Sends a page again after each reading of the board, as server-sent events, to those who have it open.

Each reader gets the newest page when it is ready for one, never a backlog. Readers of the same page share one drawing.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from callboard.web.console.page import Page, Question
from callboard.web.console.watch import Snapshot, Watch
from callboard.web.streams import QUIET_S, Stream

READERS_MAX = 400
"""Pages open at once; others are told to try again later, and still show what they had."""

Draw = Callable[[Page, Question], Awaitable[tuple[int, str]]]


def live_updates(
    watch: Watch, page: Page, question: Callable[[Request, Snapshot], Question], drawn: Draw, readers: set[object]
) -> Callable[[Request], Awaitable[Response]]:
    """The answers to those who have this page open; ``readers`` are all that are connected, to any page."""
    drawings: dict[object, tuple[int, asyncio.Future[str]]] = {}

    async def draw_once(request: Request, now: Snapshot) -> str:
        """The page as it is at this reading, from the first who asks."""
        asked = question(request, now)
        key = request.url.path, request.url.query, asked.acts
        number, drawing = drawings.get(key, (-1, None))
        if drawing is None or number != now.number:
            drawing = asyncio.ensure_future(_drawing(page, asked, drawn))
            for old in [its for its, (then, _) in drawings.items() if then != now.number]:
                del drawings[old]
            drawings[key] = now.number, drawing
        return await asyncio.shield(drawing)

    async def answer(request: Request) -> Response:
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
